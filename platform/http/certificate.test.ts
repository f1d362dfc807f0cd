// The check of the served certificate: named once it has expired, and a week before.
import { expect, test } from "vitest";
import { issueCertificate, makeAuthority } from "../../kube/server/pki.ts";
import { checkCertificate } from "./certificate.ts";

const DAY_MS = 86_400_000;
const from = new Date("2026-01-01T00:00:00Z");
const { cert } = await issueCertificate(
  await makeAuthority("authority", { from }),
  { commonName: "api", dnsNames: ["api.example.org"] },
  { from, days: 30 },
);

test.each<[string, number, RegExp]>([
  ["before its time", -1, /valid from 2025-12-31T/],
  ["in its last week", 25, /the certificate expires at 2026-01-/],
  ["after its end", 31, /the certificate expired at 2026-01-.*, and clients refuse it: renew the Secret/],
])("a certificate %s is named", (_when, days, words) => {
  expect(checkCertificate(cert)(new Date(from.getTime() + days * DAY_MS))).toEqual({
    degraded: expect.stringMatching(words),
  });
});

test("a certificate in its time is not", () => {
  expect(checkCertificate(cert)(new Date(from.getTime() + 10 * DAY_MS))).toBe(true);
});
