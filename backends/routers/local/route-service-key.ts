// The keys of the signatures for route services: two of the installation, which an operator rotates.
import { hash, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Rotated, RotatedSecret } from "../../../crds/rotated-secret.ts";
import type { KubeClient } from "../../../kube/client/client.ts";

const KEY_BYTES = 32;
/** Between two reads for signatures of unknown keys: whoever makes such up causes one request to the API server in this time. */
const REFRESH_MS = 1_000;

export interface RouteServiceKey {
  /** Named in a signature's metadata. */
  id: string;
  bytes: Uint8Array;
}

export type RouteServiceKeys = Rotated<RouteServiceKey>;

export const ROUTE_SERVICE_KEYS = new RotatedSecret<RouteServiceKey>({
  secretName: "cupola-route-service-keys",
  what: "keys of route services",
  create: () => randomBytes(KEY_BYTES).toString("base64url"),
  parse(text) {
    const bytes = Buffer.from(text, "base64url");
    return bytes.length === KEY_BYTES ? toKey(bytes) : undefined;
  },
});

export function toKey(bytes: Uint8Array): RouteServiceKey {
  return { id: hash("sha256", bytes, "base64url").slice(0, 16), bytes };
}

/** The keys as a router uses them. */
export interface RouteServiceKeyring {
  /** Undefined until they are known. */
  keys(): RouteServiceKeys | undefined;
  /** Reads them again, at most once a second; all callers of that second share the read. Never rejects. */
  refresh(): Promise<void>;
}

export function createKeyring(client: KubeClient, refreshMs = REFRESH_MS): RouteServiceKeyring {
  let known: RouteServiceKeys | undefined;
  let next: Promise<void> | undefined;
  let readAt = -Infinity;
  // Read again where that failed, and after a refresh by others of this process.
  const take = (): Promise<void> =>
    ROUTE_SERVICE_KEYS.get(client).then(
      (read) => void (known = read),
      () => undefined,
    );
  const readAgain = async (): Promise<void> => {
    await delay(Math.max(0, readAt + refreshMs - performance.now()));
    readAt = performance.now();
    // A caller that comes from now on needs a read that begins later.
    next = undefined;
    await ROUTE_SERVICE_KEYS.refresh(client).catch(() => undefined);
    await take();
  };
  return {
    keys() {
      void take();
      return known;
    },
    refresh: () => (next ??= readAgain()),
  };
}
