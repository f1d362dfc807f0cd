// Names of tenants' objects as numbers, the same in all files of one bundle. Pure.
import { DEFINITIONS } from "../../crds/definitions.ts";
import * as builtin from "../../kube/api/builtin.ts";

/** Names shorter than this are left: they would be found inside of other words. */
const LEAST_LENGTH = 3;
const MAX_NAMES = 50_000;

export interface Anonymizer {
  /** To be called with the text of each file of objects first. */
  learn(text: string): void;
  hide(text: string): string;
}

/** Fields of objects with names that people chose. */
const NAME_FIELDS = /"(?:name|namespace|host|hostname|domain|claimed|url|username|user)":\s?"([^"\\]+)"/g;
/** Hosts of URLs, in messages, too. */
const HOSTS = /:\/\/(?:\*\*\*:\*\*\*@)?([A-Za-z0-9][A-Za-z0-9.-]{0,252})/g;
/** Names of the platform, of Kubernetes and of kinds say nothing about people. */
const PLATFORM = /^(?:cupola|kube-|system:|default$|leader-)|cupola\.dev/;
const KINDS: ReadonlySet<string> = new Set([...DEFINITIONS, ...Object.values(builtin)].map(({ kind }) => kind));
const WORD = /[A-Za-z0-9][A-Za-z0-9._@:/-]*[A-Za-z0-9]/g;

export function newAnonymizer(): Anonymizer {
  const numbers = new Map<string, string>();
  return {
    learn(text) {
      for (const pattern of [NAME_FIELDS, HOSTS])
        for (const [, name = ""] of text.matchAll(pattern))
          if (
            name.length >= LEAST_LENGTH &&
            !PLATFORM.test(name) &&
            !KINDS.has(name) &&
            !numbers.has(name) &&
            numbers.size < MAX_NAMES
          )
            numbers.set(name, `name-${numbers.size + 1}`);
    },
    // Longer names hold shorter ones, so whole words are tried first, then their parts.
    hide: (text) => text.replace(WORD, (word) => hideWord(word, SEPARATORS, numbers)),
  };
}

/** Separators of names, the outermost first: `acme-dev/shop.web` is a namespace, an app and a process type. */
const SEPARATORS: readonly RegExp[] = [/([/@])/, /(:)/, /(\.)/, /(-)/];

function hideWord(
  word: string,
  [separator, ...inner]: readonly RegExp[],
  numbers: ReadonlyMap<string, string>,
): string {
  const number = numbers.get(word);
  if (number !== undefined || !separator) return number ?? word;
  return word
    .split(separator)
    .map((part) => hideWord(part, inner, numbers))
    .join("");
}
