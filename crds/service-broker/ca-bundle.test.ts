// Bundles of certificates, and what is none.
import { expect, test } from "vitest";
import { makeAuthority } from "../../kube/server/pki.ts";
import { findBundleProblem } from "./ca-bundle.ts";

test("one certificate, several with words between them, and what is none", async () => {
  const [one, other] = [(await makeAuthority("one")).cert, (await makeAuthority("other")).cert];
  expect(findBundleProblem(one)).toBeUndefined();
  expect(findBundleProblem(`# first\n${one}\n# second\n${other}`)).toBeUndefined();
  expect(findBundleProblem("no certificate")).toBe("it has no certificate in PEM");
  const broken = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
  expect(findBundleProblem(`${one}\n${broken}`)).toBe("its certificate 2 cannot be read");
});
