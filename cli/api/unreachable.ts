// Why an API did not answer, and what to do: the one place that reads the codes of Node's errors. Pure.
import { Failure } from "../failure.ts";

/** Node's code, or that of OpenSSL. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its authority is not known here",
  UNABLE_TO_GET_ISSUER_CERT: "its authority is not known here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its authority is not known here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its authority is not known here",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another name",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet: is the clock of this machine right?",
};

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "its name is not known here",
  EAI_AGAIN: "its name cannot be looked up now",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the connection broke",
  EPROTO: "it does not speak TLS",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS",
};

/** @param cause what the request failed with */
export function toUnreachable(base: string, cause: unknown): Failure {
  const code = codeOf(cause);
  const untrusted = UNTRUSTED[code];
  if (untrusted !== undefined)
    return new Failure(`the certificate of ${base} is not trusted: ${untrusted}`, {
      kind: "unreachable",
      next: `cup login --api ${base} --ca FILE, with the certificate of its authority; on a test installation: cup login --api ${base} --skip-ssl-validation`,
      cause,
    });
  const reason = REASONS[code];
  return new Failure(`${base} does not answer${reason === undefined ? "" : `: ${reason}`}`, {
    kind: "unreachable",
    next: isThisMachine(base) ? "is it running? cup local status" : "is the address right? cup login --api URL",
    cause,
  });
}

/** The code of the error, or of the first of several attempts. */
function codeOf(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown[] };
  if (typeof code === "string") return code;
  return errors?.[0] === undefined ? "" : codeOf(errors[0]);
}

function isThisMachine(base: string): boolean {
  return /^https?:\/\/(?:[^/:]+\.)?(?:localhost|127\.0\.0\.1|\[::1\])(?::|\/|$)/.test(base);
}
