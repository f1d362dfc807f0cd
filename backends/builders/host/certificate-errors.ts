// Recognises in a build's log that a company's proxy is not trusted, which every tool says in other words.
import type { LineSink } from "./lifecycle/run-executable.ts";

const UNTRUSTED =
  /SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERTIFICATE_VERIFY_FAILED|certificate signed by unknown authority|PKIX path building failed|self[- ]signed certificate|invalid peer certificate: UnknownIssuer/i;

/** Next step, for the end of the build's error. */
export const CERTIFICATE_HINT =
  "the certificate of a proxy between this machine and the registry is not trusted: set NODE_EXTRA_CA_CERTS and SSL_CERT_FILE to the file of your company's authority, start Cupola again, and push again (cup doctor shows what is set)";

/** `log`, which notices such a line. */
export function watchCertificateErrors(log: LineSink): { log: LineSink; seen: () => boolean } {
  let seen = false;
  return {
    log: (stream, line) => {
      seen ||= UNTRUSTED.test(line);
      log(stream, line);
    },
    seen: () => seen,
  };
}
