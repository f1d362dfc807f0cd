// Which lines of a build's log say that a proxy's certificate is not trusted.
import { expect, test } from "vitest";
import { watchCertificateErrors } from "./certificate-errors.ts";

test.each([
  ["npm", "npm error code SELF_SIGNED_CERT_IN_CHAIN", true],
  ["yarn", "RequestError: unable to get local issuer certificate UNABLE_TO_GET_ISSUER_CERT_LOCALLY", true],
  ["pip", "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", true],
  ["uv", "invalid peer certificate: UnknownIssuer", true],
  ["go", "tls: failed to verify certificate: x509: certificate signed by unknown authority", true],
  ["maven", "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException", true],
  ["npm, another error", "npm error code E404", false],
])("of %s", (_tool, line, expected) => {
  const lines: string[] = [];
  const { log, seen } = watchCertificateErrors((_stream, text) => lines.push(text));
  log("OUT", "-----> Installing");
  log("ERR", line);
  expect(seen()).toBe(expected);
  expect(lines).toEqual(["-----> Installing", line]);
});
