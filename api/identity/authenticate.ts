// Authenticates callers: a login token is opened, Kubernetes reviews the credential (or token-issuer.ts verifies it), and the result is cached by the credential's hash for at most a minute. No credential is stored or logged.
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
import { isLoginToken, type LoginTokens } from "./login-tokens.ts";
import type { ImpersonatedIdentity, TokenIssuer } from "./token-issuer.ts";

/** How long a review is cached at most: the documented bound of revocation. Milliseconds. */
const reviewTtlMs = 60_000;
/** How long a refusal is cached, so that a client with a bad token costs little. Milliseconds. */
const denialTtlMs = 5_000;
const maxCachedReviews = 10_000;
const reviewTimeoutMs = 10_000;

/** `as`: the identity to impersonate, where Kubernetes does not accept the credential itself. */
type Reviewed = Pick<Caller, "name" | "groups" | "uid" | "extra"> & { as?: ImpersonatedIdentity["as"] };

type Headers = NodeJS.Dict<string | string[]>;

/** The identity behind a credential, reviewed within the last minute; undefined for a refused one. @throws CFError 503 */
export type ReviewCredential = (credential: Credential) => Promise<Reviewed | undefined>;

export interface ReviewerDeps {
  /** The platform's own client; posts TokenReviews. */
  client: KubeClient;
  /** An issuer whose tokens are verified here; Kubernetes reviews all others. */
  issuer?: TokenIssuer | undefined;
  now: () => Date;
}

/** `until` is by the wall clock, which runs while the machine sleeps and decides when credentials expire; `steadyUntil` by the clock that nobody can set. */
interface CachedReview {
  reviewed: Promise<Reviewed | undefined>;
  until: number;
  steadyUntil: number;
}

export function createReviewer({ client, issuer, now }: ReviewerDeps): ReviewCredential {
  const reviews = new LRUCache<string, CachedReview>({ max: maxCachedReviews });

  return (credential) => {
    const key = credentialHash(credential);
    const hit = reviews.get(key);
    const [asked, steady] = [now(), performance.now()];
    if (hit && asked.getTime() < hit.until && steady < hit.steadyUntil) return hit.reviewed;
    const ttl = cacheTtl(credential, asked);
    if (ttl <= 0) return Promise.resolve(undefined);
    const entry: CachedReview = {
      reviewed: review(client, credential, issuer),
      until: asked.getTime() + ttl,
      steadyUntil: steady + ttl,
    };
    reviews.set(key, entry);
    entry.reviewed.then(
      (reviewed) => {
        if (!reviewed) entry.steadyUntil = performance.now() + Math.min(ttl, denialTtlMs);
      },
      () => reviews.delete(key),
    );
    return entry.reviewed;
  };
}

export interface AuthenticatorDeps {
  review: ReviewCredential;
  /** Opens login tokens. */
  loginTokens: Pick<LoginTokens, "open">;
  /** Decides whether a caller may impersonate. */
  decide: DecideAccess;
}

/** Creates the function that authenticates a request by its headers. It throws CFError 401, or 503 when Kubernetes does not answer. */
export function createAuthenticator({
  review,
  loginTokens,
  decide,
}: AuthenticatorDeps): (headers: Headers, signal: AbortSignal) => Promise<Caller> {
  return async (headers) => {
    const sent = parseAuthorization(headers["authorization"] as string | undefined);
    const credential = isSealed(sent) ? await unseal(sent, loginTokens) : sent;
    const reviewed = credential && (await review(credential));
    if (!reviewed) throw new CFError("InvalidAuthToken");
    const caller = toCaller(reviewed, credential);
    // An impersonated caller may not impersonate: that would use the platform's permission, not the caller's.
    return findImpersonatedCaller(caller, headers, reviewed.as ? denyAll : decide) ?? caller;
  };
}

type TokenCredential = Extract<Credential, { kind: "token" }>;

function isSealed(credential: Credential): credential is TokenCredential {
  return credential.kind === "token" && isLoginToken(credential.token);
}

/** The Kubernetes credential inside a login token. */
async function unseal(
  { token }: TokenCredential,
  loginTokens: Pick<LoginTokens, "open">,
): Promise<Credential | undefined> {
  const opened = await loginTokens.open(token, "access");
  return opened && { kind: "token", token: opened.credential };
}

const denyAll: DecideAccess = () => Promise.resolve(false);

export function toCaller({ as, ...who }: Reviewed, credential: Credential): Caller {
  const kind = who.name.startsWith("system:serviceaccount:") ? "ServiceAccount" : "User";
  return { ...who, kind, connect: (platform) => platform.as(as ?? credential) };
}

/** The cache key, so that the credential itself is not stored. */
function credentialHash(credential: Credential): string {
  return hash(
    "sha256",
    credential.kind === "token" ? credential.token : `${credential.cert}\0${credential.key}`,
    "hex",
  );
}

/** How long a review may be cached: a minute, and never past the credential's expiry. The API server verifies signatures. */
function cacheTtl(credential: Credential, now: Date): number {
  const expiry = credential.kind === "token" ? tokenExpiry(credential.token) : certificateExpiry(credential.cert);
  return expiry === undefined ? reviewTtlMs : Math.min(reviewTtlMs, expiry * 1000 - now.getTime());
}

/** Expiry in seconds since the epoch; 0, which means refused, for an invalid certificate. */
function certificateExpiry(cert: string): number {
  try {
    return new X509Certificate(cert).validToDate.getTime() / 1000;
  } catch {
    return 0; // Details would only help an attacker.
  }
}

/** Expiry of a JWT in seconds since the epoch; undefined for a token without one. Verifies nothing. */
export function tokenExpiry(token: string): number | undefined {
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

/** A client certificate is reviewed over a connection that uses it: a SelfSubjectReview returns its identity. */
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

/** The API server rejects an untrusted or unusable certificate with 401 or by aborting the handshake; no other error says anything about the certificate. */
function isRefusedCertificate(error: unknown): boolean {
  if (!(error instanceof KubeError)) return true;
  if (error.code === 401 || error.code === 403) return true;
  return error.code === 0 && /certificate|alert|ssl|pem|key/i.test(`${error.message} ${String(error.cause)}`);
}
