// The signature for route services: valid for one URL of one route within a minute, by one installation's key.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type SignatureHeaders, signRequest, verifySignature } from "./route-service-signature.ts";

const key = randomBytes(32);
const url = "https://shop.example.org/cart?id=1";
const asked = { url, routeGUID: "route-1" };
const signed = signRequest(asked, key, 1_000);
const forged = (change: Partial<SignatureHeaders>) => ({ ...signed, ...change });

test.each([
  ["at once", { now: 1_000 }, "valid"],
  ["a minute later", { now: 61_000 }, "valid"],
  ["by a clock that is behind", { now: 0 }, "valid"],
  ["later", { now: 61_001 }, "expired"],
  ["of another URL", { expected: { ...asked, url: `${url}2` } }, "invalid"],
  ["of another route", { expected: { ...asked, routeGUID: "route-2" } }, "invalid"],
  ["of another installation", { by: randomBytes(32) }, "invalid"],
  ["with another's metadata", { headers: forged({ metadata: signRequest(asked, key, 1).metadata }) }, "invalid"],
  ["that is no signature", { headers: forged({ signature: "" }) }, "invalid"],
  ["with metadata that is none", { headers: forged({ metadata: "e30" }) }, "invalid"],
  ["that is cut", { headers: forged({ signature: signed.signature.slice(0, 20) }) }, "invalid"],
])("a signature %s", (_what, given, verdict) => {
  const { headers, expected, by, now } = { headers: signed, expected: asked, by: key, now: 1_000, ...given };
  expect(verifySignature(headers, expected, { key: by, now })).toBe(verdict);
});

test("two signatures of the same differ", () => {
  expect(signRequest(asked, key, 1_000)).not.toEqual(signed);
});
