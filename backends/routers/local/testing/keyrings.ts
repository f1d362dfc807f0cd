// Keys of route services for tests.
import { randomBytes } from "node:crypto";
import { type RouteServiceKey, type RouteServiceKeyring, type RouteServiceKeys, toKey } from "../route-service-key.ts";

export const aKey = (): RouteServiceKey => toKey(randomBytes(32));

/** A keyring that has these keys, or none, and learns no others. */
export function fixedKeyring(keys?: RouteServiceKeys): RouteServiceKeyring {
  return { keys: () => keys, refresh: () => Promise.resolve() };
}
