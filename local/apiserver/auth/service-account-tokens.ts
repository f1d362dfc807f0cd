// Tokens of service accounts: JWTs that this server signs, and reads again.
import { createHash, createPrivateKey, createPublicKey, randomUUID, type KeyObject } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SignJWT, errors, jwtVerify, type JWTPayload } from "jose";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { makeSigningKeys } from "../../../kube/server/pki.ts";
import { parsePem } from "../certificates.ts";
import type { ResourceReader, UserInfo } from "../types.ts";
import { serviceAccountUser } from "./users.ts";

const keyFile = "service-account.key";
const algorithm = "ES256";

export interface TokenClaims {
  namespace: string;
  name: string;
  uid: string;
  audiences: string[];
  /** Seconds from now. */
  lifetime: number;
  /** An object that the token ends with. */
  bound?: { kind: string; name: string; uid: string };
}

export interface ServiceAccountTokens {
  /** A signed token and when it ends (RFC 3339). */
  issue(claims: TokenClaims): Promise<{ token: string; expires: string }>;
  /** The account of a token for one of the audiences; undefined for other tokens. Throws when the token is ours but invalid. */
  verify(token: string, audiences: string[]): Promise<{ user: UserInfo; audiences: string[] } | undefined>;
}

export interface ServiceAccountTokenDeps {
  reader: ResourceReader;
  dir: string;
  issuer: string;
  now: () => number;
}

/** Reads the signing key of the folder, or makes one (mode 0600). */
export async function openServiceAccountTokens(deps: ServiceAccountTokenDeps): Promise<ServiceAccountTokens> {
  const pem = await signingKey(deps.dir);
  const key = parsePem(join(deps.dir, keyFile), () => createPrivateKey(pem));
  const publicKey = createPublicKey(key);
  const known = new LRUCache<string, Signed>({ max: 2000 });
  const keyId = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
  return {
    issue: (claims) => issue(claims, key, keyId, deps),
    verify: (token, audiences) => verify(token, audiences, { ...deps, publicKey, known }),
  };
}

/** A token with a valid signature. Its validity is checked again at each use. */
interface Signed {
  user: UserInfo;
  audiences: string[];
  /** Seconds since 1970. */
  ends: number;
  claims: z.infer<typeof payloadSchema>["kubernetes.io"];
}

interface Verifier extends ServiceAccountTokenDeps {
  publicKey: KeyObject;
  /** By digest, so that no token stays in memory. */
  known: LRUCache<string, Signed>;
}

async function signingKey(dir: string): Promise<string> {
  const path = join(dir, keyFile);
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw new Error(`cannot read ${path}`, { cause });
  }
  const { privateKey } = makeSigningKeys();
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(path, privateKey, { mode: 0o600, flag: "wx" });
  return privateKey;
}

const seconds = (now: () => number) => Math.floor(now() / 1000);

async function issue(
  claims: TokenClaims,
  key: KeyObject,
  keyId: string,
  { issuer, now }: ServiceAccountTokenDeps,
): Promise<{ token: string; expires: string }> {
  const at = seconds(now);
  const { namespace, name, uid, bound } = claims;
  const kubernetes = {
    namespace,
    serviceaccount: { name, uid },
    ...(bound && { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } }),
  };
  const token = await new SignJWT({ "kubernetes.io": kubernetes })
    .setProtectedHeader({ alg: algorithm, kid: keyId })
    .setIssuer(issuer)
    .setSubject(`system:serviceaccount:${namespace}:${name}`)
    .setAudience(claims.audiences)
    .setIssuedAt(at)
    .setNotBefore(at)
    .setExpirationTime(at + claims.lifetime)
    .setJti(randomUUID())
    .sign(key);
  return { token, expires: new Date((at + claims.lifetime) * 1000).toISOString().replace(".000Z", "Z") };
}

const bound = z.object({ name: z.string(), uid: z.string() });
const payloadSchema = z.object({
  jti: z.string().optional(),
  "kubernetes.io": z.object({
    namespace: z.string(),
    serviceaccount: bound,
    pod: bound.optional(),
    secret: bound.optional(),
  }),
});

/** Whether a token names this server as its issuer, without believing it yet. */
function isOurs(token: string, issuer: string): boolean {
  const parts = token.split(".");
  if (parts.length !== 3) return false;
  try {
    return (JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8")) as JWTPayload).iss === issuer;
  } catch {
    return false; // Not a JWT: another authenticator's token.
  }
}

async function verify(
  token: string,
  audiences: string[],
  verifier: Verifier,
): Promise<{ user: UserInfo; audiences: string[] } | undefined> {
  if (!isOurs(token, verifier.issuer)) return undefined;
  const id = createHash("sha256").update(token).digest("base64");
  const signed = verifier.known.get(id) ?? (await readSigned(token, verifier));
  verifier.known.set(id, signed);
  if (seconds(verifier.now) >= signed.ends) throw new Error("service account token has expired");
  const { namespace, serviceaccount, pod, secret } = signed.claims;
  requireSame(verifier.reader, "serviceaccounts", namespace, serviceaccount);
  if (secret) requireSame(verifier.reader, "secrets", namespace, secret);
  if (pod) requireSame(verifier.reader, "pods", namespace, pod);
  const meant = audiences.filter((audience) => signed.audiences.includes(audience));
  if (meant.length === 0)
    throw new Error(
      `[invalid bearer token, token audiences ${listed(signed.audiences)} is invalid for the target audiences ${listed(audiences)}]`,
    );
  return { user: signed.user, audiences: meant };
}

/** As Go prints a list of texts. */
const listed = (texts: string[]) => `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;

async function readSigned(token: string, { publicKey, issuer, now }: Verifier): Promise<Signed> {
  const { payload } = await checkSignature(token, publicKey, issuer, now);
  const { jti, "kubernetes.io": claims } = payloadSchema.parse(payload);
  const user = serviceAccountUser(claims.namespace, claims.serviceaccount.name, claims.serviceaccount.uid);
  const extra = jti && { extra: { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] } };
  return { user: { ...user, ...extra }, audiences: [payload.aud ?? []].flat(), ends: payload.exp ?? 0, claims };
}

async function checkSignature(
  token: string,
  key: KeyObject,
  issuer: string,
  now: () => number,
): Promise<{ payload: JWTPayload }> {
  try {
    return await jwtVerify(token, key, {
      issuer,
      algorithms: [algorithm],
      requiredClaims: ["exp", "aud"],
      currentDate: new Date(now()),
    });
  } catch (cause) {
    if (cause instanceof errors.JWTExpired) throw new Error("service account token has expired", { cause });
    throw new Error("invalid service account token", { cause });
  }
}

/** A token becomes invalid with its object, even when another object takes the name. */
function requireSame(
  reader: ResourceReader,
  resource: string,
  namespace: string,
  { name, uid }: { name: string; uid: string },
): void {
  const object = reader.find("", resource, namespace, name);
  if (object?.metadata.uid !== uid)
    throw new Error(`service account token is bound to ${resource} ${JSON.stringify(name)}, which is gone`);
}
