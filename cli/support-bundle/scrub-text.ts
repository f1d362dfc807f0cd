// Removes from free text what looks like a credential: the second line of defence of the support bundle, after its list of allowed fields. Pure.
import { hideUserinfo } from "../../crds/hide-userinfo.ts";

export const MASK = "***";

const PEM = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g;
const SCHEME = /\b(bearer|basic|digest|negotiate)\s+[^\s"',;]+/gi;
/** A word for a credential, then `=` or `:`, then its value, quoted or not. */
const NAMED =
  /((?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key|credentials?|authorization|private[-_]?key|cookie|client[-_]?key)["'\\]*\s*[=:]\s*)(?:\\*"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&}]+)/gi;
/** Bounded, or a text of many colons would take quadratic time. */
const QUERY = /(:\/\/[^\s?#"']{1,300})\?[^\s"')]+/g;
const TOKEN = /(sha256:)?[A-Za-z0-9+/_=.-]{20,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Names of objects and hosts have neither capitals nor signs of base64. */
const PLAIN_NAME = /^[a-z0-9./-]+$/;
const HEX = /^[0-9a-f]{32,}$/;

/** The text with `***` in place of credentials. Names, digests with `sha256:` and UUIDs stay. */
export function scrubText(text: string): string {
  return hideUserinfo(text)
    .replace(PEM, MASK)
    .replace(SCHEME, `$1 ${MASK}`)
    .replace(NAMED, `$1${MASK}`)
    .replace(QUERY, `$1?${MASK}`)
    .replace(TOKEN, (token, digest: string | undefined) =>
      digest !== undefined || !isCredential(token) ? token : MASK,
    );
}

function isCredential(token: string): boolean {
  if (UUID.test(token)) return false;
  if (HEX.test(token)) return true;
  return !PLAIN_NAME.test(token) && /\d/.test(token) && /[A-Z+=_]/.test(token) && !isWords(token);
}

/** Paths and identifiers of code, such as `node_modules/undici/lib/Agent.js`. */
function isWords(token: string): boolean {
  return token.split(/[./_-]/).every((word) => /^(?:[A-Za-z]{0,30}|\d{1,6})\d{0,2}$/.test(word));
}
