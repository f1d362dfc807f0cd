// Login tokens: a JWT that clients of Cloud Foundry can read, with a Kubernetes credential sealed inside. Nothing is stored.
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { LRUCache } from "lru-cache";
import type { KubeClient } from "../../kube/client/client.ts";
import { unavailable } from "../http/errors.ts";
import { LOGIN_KEY_ID, LOGIN_KEYS, type LoginKeyPair, type LoginKeys } from "./login-keys.ts";

/** A refresh token opens no request, and an access token refreshes nothing. The header's `typ` tells them apart. */
export type LoginTokenUse = "access" | "refresh";

const TYPES: Record<LoginTokenUse, string> = { access: "JWT", refresh: "cupola-refresh+jwt" };
const ALGORITHM = "RS256";
/** Name of a Cloud Foundry API in UAA. */
const AUDIENCE = "cloud_controller";
/** Interval at which keys are read again for tokens with an unknown key id. Milliseconds. */
const COOLDOWN_MS = 5_000;

export interface LoginTokenContent {
  use: LoginTokenUse;
  /** `iss`; the discovery document is below it. */
  issuer: string;
  claims: JWTPayload & { jti: string };
  /** The Kubernetes token to seal; undefined for a token that opens nothing. */
  credential: string | undefined;
  /** Seconds since the epoch; undefined for a refresh token of a credential that does not expire. */
  expiresAt: number | undefined;
}

export interface OpenedLoginToken {
  credential: string;
  claims: JWTPayload;
}

/** A JWK, with the key in PEM as UAA adds it. */
export type PublicKey = Record<"kid" | "use" | "alg" | "value", string> & { kty?: string; n?: string; e?: string };

export interface LoginTokens {
  seal(content: LoginTokenContent): Promise<string>;
  /** Undefined for a token that is expired, changed, of another installation or of another use. @throws CFError 503 */
  open(token: string, use: LoginTokenUse): Promise<OpenedLoginToken | undefined>;
  /** The public keys as JWKs, the current one first. @throws CFError 503 */
  publicKeys(): Promise<PublicKey[]>;
}

/** Whether a token claims to be a login token, of this or of another installation. Verifies nothing. */
export function isLoginToken(token: string): boolean {
  return findKeyId(token)?.startsWith(LOGIN_KEY_ID) === true;
}

/**
 * Key ids by a token's header. Every request comes by here, and an issuer's tokens have few headers: one for each of its keys. A header holds no secret.
 */
const keyIds = new LRUCache<string, { id: string | undefined }>({ max: 100 });
/** Longer headers are read each time, so that memory has a bound. */
const MAX_REMEMBERED_HEADER = 300;

function findKeyId(token: string): string | undefined {
  const end = token.indexOf(".");
  if (end < 0) return undefined;
  const header = token.slice(0, end);
  const known = keyIds.get(header);
  if (known) return known.id;
  const id = readKeyId(token);
  if (end <= MAX_REMEMBERED_HEADER) keyIds.set(copyOf(header), { id });
  return id;
}

/** A part of a text keeps the whole in memory: here a credential. */
function copyOf(part: string): string {
  return Buffer.from(part).toString();
}

function readKeyId(token: string): string | undefined {
  try {
    const { kid } = decodeProtectedHeader(token);
    return typeof kid === "string" ? kid : undefined;
  } catch {
    return undefined; // an opaque token that happens to have a dot
  }
}

export function createLoginTokens({ client, now }: { client: KubeClient; now: () => Date }): LoginTokens {
  const keys = createKeySource(client, now);
  return {
    async seal({ use, issuer, claims, credential, expiresAt }) {
      const { current } = await keys.get();
      const sealed = credential !== undefined && (await encrypt(current, credential));
      const jwt = new SignJWT({ ...claims, ...(sealed && { sealed }) })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPES[use], kid: current.id })
        .setIssuer(issuer)
        .setAudience([AUDIENCE, "openid"])
        .setIssuedAt(now());
      if (expiresAt !== undefined) jwt.setExpirationTime(expiresAt);
      return jwt.sign(current.signing);
    },
    async open(token, use) {
      const pair = await keys.find(findKeyId(token) ?? "");
      if (!pair) return undefined;
      try {
        return await openWith(pair, token, { use, now: now() });
      } catch {
        return undefined; // Details would only help an attacker.
      }
    },
    async publicKeys() {
      const { current, previous } = await keys.get();
      return [current, ...(previous ? [previous] : [])].map(toPublicKey);
    },
  };
}

async function openWith(
  pair: LoginKeyPair,
  token: string,
  { use, now }: { use: LoginTokenUse; now: Date },
): Promise<OpenedLoginToken | undefined> {
  const { payload } = await jwtVerify(token, pair.verifying, {
    algorithms: [ALGORITHM],
    audience: AUDIENCE,
    typ: TYPES[use],
    currentDate: now,
    ...(use === "access" && { requiredClaims: ["exp"] }),
  });
  const { sealed, ...claims } = payload;
  if (typeof sealed !== "string") return undefined;
  const { plaintext } = await compactDecrypt(sealed, pair.sealing, {
    keyManagementAlgorithms: ["dir"],
    contentEncryptionAlgorithms: ["A256GCM"],
  });
  return { credential: Buffer.from(plaintext).toString("utf8"), claims };
}

function encrypt({ sealing }: LoginKeyPair, credential: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(credential))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .encrypt(sealing);
}

function toPublicKey({ id, verifying }: LoginKeyPair): PublicKey {
  return {
    ...verifying.export({ format: "jwk" }),
    use: "sig",
    alg: ALGORITHM,
    kid: id,
    value: String(verifying.export({ format: "pem", type: "spki" })),
  };
}

/** Another replica may have made new keys a moment ago, so an unknown id reads them again. */
function createKeySource(
  client: KubeClient,
  now: () => Date,
): { get: () => Promise<LoginKeys>; find: (id: string) => Promise<LoginKeyPair | undefined> } {
  let refreshedAt = -Infinity;
  const get = (): Promise<LoginKeys> => LOGIN_KEYS.get(client).catch(throwUnavailable);
  const findKnown = async (id: string): Promise<LoginKeyPair | undefined> => {
    const { current, previous } = await get();
    return [current, previous].find((pair) => pair?.id === id);
  };
  return {
    get,
    async find(id) {
      const known = await findKnown(id);
      const time = now().getTime();
      if (known || Math.abs(time - refreshedAt) < COOLDOWN_MS) return known;
      refreshedAt = time;
      await LOGIN_KEYS.refresh(client).catch(throwUnavailable);
      return findKnown(id);
    },
  };
}

function throwUnavailable(cause: unknown): never {
  throw unavailable("The keys of logins cannot be read. Try again, or send a token of Kubernetes.", { cause });
}
