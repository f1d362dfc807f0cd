// Who calls: the credential is reviewed by Kubernetes (or verified here, token-issuer.ts), and the answer remembered by its hash for a minute at most. No credential is kept or logged.
import { hash, X509Certificate } from "node:crypto";
import type { UserInfo } from "kubernetes-types/authentication/v1.js";
import { LRUCache } from "lru-cache";
import { SelfSubjectReview, TokenReview } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { CFError, unavailable } from "../http/errors.ts";
import type { Caller } from "./caller.ts";
import { type Credential, parseAuthorization } from "./credential.ts";
import { type DecideAccess, findImpersonatedCaller } from "./impersonation.ts";
import type { ImpersonatedIdentity, TokenIssuer } from "./token-issuer.ts";

/** Longest that a review is believed: the published bound of revocation. Milliseconds. */
const reviewTtlMs = 60_000;
/** How long a refusal is remembered, so that a client with a bad token costs little. Milliseconds. */
const denialTtlMs = 5_000;
const maxCachedReviews = 10_000;
const reviewTimeoutMs = 10_000;

/** `as`: how to speak as the caller, where the credential itself says nothing to Kubernetes. */
type Reviewed = Pick<Caller, "name" | "groups" | "uid" | "extra"> & { as?: ImpersonatedIdentity["as"] };

type Headers = NodeJS.Dict<string | string[]>;

export interface AuthenticatorDeps {
  /** The platform's own client; posts TokenReviews. */
  client: KubeClient;
  /** Rights to impersonate. */
  decide: DecideAccess;
  /** An issuer whose tokens are verified here; all others are Kubernetes' to review. */
  issuer?: TokenIssuer | undefined;
  now: () => Date;
}

/** Makes the function that turns a request's headers into a caller. It throws CFError 401, or 503 when Kubernetes cannot be asked. */
export function createAuthenticator({
  client,
  decide,
  issuer,
  now,
}: AuthenticatorDeps): (headers: Headers, signal: AbortSignal) => Promise<Caller> {
  // Bounded by a clock that nobody sets, and by the wall clock (`until`), which goes on while the machine sleeps and by which credentials end.
  const reviews = new LRUCache<string, { reviewed: Promise<Reviewed | undefined>; until: number }>({
    max: maxCachedReviews,
    ttlResolution: 0,
    perf: performance,
  });

  const reviewOnce = (credential: Credential): Promise<Reviewed | undefined> => {
    const key = credentialHash(credential);
    const hit = reviews.get(key);
    const asked = now();
    if (hit && asked.getTime() < hit.until) return hit.reviewed;
    const ttl = cacheTtl(credential, asked);
    if (ttl <= 0) return Promise.resolve(undefined);
    const entry = { reviewed: review(client, credential, issuer), until: asked.getTime() + ttl };
    reviews.set(key, entry, { ttl });
    entry.reviewed.then(
      (reviewed) => {
        if (!reviewed) reviews.set(key, entry, { ttl: Math.min(ttl, denialTtlMs) });
      },
      () => reviews.delete(key),
    );
    return entry.reviewed;
  };

  return async (headers) => {
    const credential = parseAuthorization(headers["authorization"] as string | undefined);
    const reviewed = await reviewOnce(credential);
    if (!reviewed) throw new CFError("InvalidAuthToken");
    const { as, ...who } = reviewed;
    const caller = toCaller(who, (platform) => platform.as(as ?? credential));
    // Who is spoken for speaks for nobody: the second name would rest on the platform's right, not on the caller's.
    return (await findImpersonatedCaller(caller, headers, as ? denyAll : decide)) ?? caller;
  };
}

const denyAll: DecideAccess = () => Promise.resolve(false);

function toCaller(reviewed: Omit<Reviewed, "as">, connect: Caller["connect"]): Caller {
  const { name } = reviewed;
  return { ...reviewed, kind: name.startsWith("system:serviceaccount:") ? "ServiceAccount" : "User", connect };
}

/** Kept instead of the credential. */
function credentialHash(credential: Credential): string {
  return hash(
    "sha256",
    credential.kind === "token" ? credential.token : `${credential.cert}\0${credential.key}`,
    "hex",
  );
}

/** How long a review may be believed: a minute, and never past the credential's own expiry. Signatures are the API server's to check. */
function cacheTtl(credential: Credential, now: Date): number {
  const expiry = credential.kind === "token" ? tokenExpiry(credential.token) : certificateExpiry(credential.cert);
  return expiry === undefined ? reviewTtlMs : Math.min(reviewTtlMs, expiry * 1000 - now.getTime());
}

/** Seconds since the epoch; 0, so refused, for what is no certificate. */
function certificateExpiry(cert: string): number {
  try {
    return new X509Certificate(cert).validToDate.getTime() / 1000;
  } catch {
    return 0; // What is wrong with it helps only an attacker.
  }
}

function tokenExpiry(token: string): number | undefined {
  const payload = token.split(".");
  if (payload.length !== 3) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload[1] ?? "", "base64url").toString()) as { exp?: unknown } | null;
    return typeof claims?.exp === "number" ? claims.exp : undefined;
  } catch {
    return undefined; // an opaque token that happens to have two dots
  }
}

async function review(
  client: KubeClient,
  credential: Credential,
  issuer: TokenIssuer | undefined,
): Promise<Reviewed | undefined> {
  if (credential.kind === "token" && issuer?.isIssuerOf(credential.token))
    return issuer.review(client, credential.token, reviewTimeoutMs);
  try {
    return credential.kind === "token"
      ? await reviewToken(client, credential.token)
      : await reviewSelf(client.as(credential));
  } catch (cause) {
    if (credential.kind === "certificate" && isRefusedCertificate(cause)) return undefined;
    throw unavailable("The identity cannot be checked: the Kubernetes API does not answer. Try again.", { cause });
  }
}

async function reviewToken(client: KubeClient, token: string): Promise<Reviewed | undefined> {
  const { status } = await client.review(TokenReview, { spec: { token } }, { deadlineMs: reviewTimeoutMs });
  const { authenticated, user } = status ?? {};
  return authenticated ? toReviewed(user) : undefined;
}

/** With a certificate, who we are is what the API server sees over that very connection. */
async function reviewSelf(client: KubeClient): Promise<Reviewed | undefined> {
  const { status } = await client.review(SelfSubjectReview, {}, { deadlineMs: reviewTimeoutMs });
  const user = status?.userInfo;
  return user?.username === "system:anonymous" ? undefined : toReviewed(user);
}

function toReviewed(user: UserInfo | undefined): Reviewed | undefined {
  if (!user?.username) return undefined;
  return {
    name: user.username,
    groups: user.groups ?? [],
    ...(user.uid && { uid: user.uid }),
    ...(user.extra && { extra: user.extra }),
  };
}

/** An untrusted or unusable certificate is answered with 401 or by ending the handshake; anything else is no answer about the certificate. */
function isRefusedCertificate(error: unknown): boolean {
  if (!(error instanceof KubeError)) return true;
  if (error.code === 401 || error.code === 403) return true;
  return error.code === 0 && /certificate|alert|ssl|pem|key/i.test(`${error.message} ${String(error.cause)}`);
}
