// The signature for route services: valid for one URL of one route within a minute, by one installation's key.
import { expect, test } from "vitest";
import { keyIdOf, type SignatureHeaders, signRequest, verifySignature } from "./route-service-signature.ts";
import { aKey } from "./testing/keyrings.ts";

const [key, previous] = [aKey(), aKey()];
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
  ["of another installation", { headers: signRequest(asked, aKey(), 1_000) }, "invalid"],
  ["by the previous key", { headers: signRequest(asked, previous, 1_000) }, "valid"],
  ["by a key that says it is another", { headers: signRequest(asked, { ...aKey(), id: key.id }, 1_000) }, "invalid"],
  ["with another's metadata", { headers: forged({ metadata: signRequest(asked, key, 1).metadata }) }, "invalid"],
  ["that is no signature", { headers: forged({ signature: "" }) }, "invalid"],
  ["with metadata that is none", { headers: forged({ metadata: "e30" }) }, "invalid"],
  ["that is cut", { headers: forged({ signature: signed.signature.slice(0, 20) }) }, "invalid"],
])("a signature %s", (_what, given, verdict) => {
  const { headers, expected, now } = { headers: signed, expected: asked, now: 1_000, ...given };
  expect(verifySignature(headers, expected, { keys: { current: key, previous }, now })).toBe(verdict);
});

test("two signatures of the same differ", () => {
  expect(signRequest(asked, key, 1_000)).not.toEqual(signed);
});

test("a signature names its key, and foreign metadata none", () => {
  expect(keyIdOf(signed.metadata)).toBe(key.id);
  expect(["", "e30", "bm90IEpTT04"].map(keyIdOf)).toEqual([undefined, undefined, undefined]);
});
