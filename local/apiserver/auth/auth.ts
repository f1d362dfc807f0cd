// Authentication and authorization put together: authenticators, the RBAC authorizer, reviews and bootstrap roles.
import { timingSafeEqual, createHash } from "node:crypto";
import type { Auth, AuthDeps, Credentials, UserInfo } from "../types.ts";
import { unauthorized } from "../status.ts";
import { startAggregation, type Aggregation } from "./aggregation.ts";
import { bootstrapRoles } from "./bootstrap-roles.ts";
import { certificateReader } from "./client-certificates.ts";
import { checkRbacWrite } from "./escalation.ts";
import { impersonate } from "./impersonate.ts";
import { createRbacAuthorizer } from "./rbac-authorizer.ts";
import { reviewResources } from "./reviews.ts";
import { openServiceAccountTokens, type ServiceAccountTokens } from "./service-account-tokens.ts";
import { tokenRequestResource } from "./token-request.ts";
import { anonymous, withAuthenticated } from "./users.ts";

interface Authenticators {
  readCertificate: (der: Uint8Array) => UserInfo;
  accountTokens: ServiceAccountTokens;
  staticTokens: Map<string, UserInfo>;
  audiences: string[];
}

/** Opens keys, reads the RBAC objects and follows them. */
export async function createAuth(deps: AuthDeps): Promise<Auth> {
  const { reader, writer, now, issuer } = deps;
  const authorizer = createRbacAuthorizer(reader);
  const audiences = [issuer];
  const accountTokens = await openServiceAccountTokens({ reader, dir: deps.dir, issuer, now });
  const authenticators: Authenticators = {
    readCertificate: certificateReader(deps.clientCa, now),
    accountTokens,
    staticTokens: deps.tokens,
    audiences,
  };
  let aggregation: Aggregation | undefined;
  return {
    authenticate: async (credentials) =>
      impersonate(await identify(credentials, authenticators), credentials.impersonate, authorizer.authorize),
    authorize: authorizer.authorize,
    checkRbacWrite: (request) => checkRbacWrite(request, authorizer),
    virtualResources: [
      ...reviewResources({
        authorizer,
        audiences,
        now,
        readToken: (token, wanted) => readToken(token, wanted, authenticators),
      }),
      tokenRequestResource({ reader, tokens: accountTokens, audiences, now }),
    ],
    bootstrap: async () => {
      await bootstrapRoles(reader, writer);
      aggregation ??= startAggregation(reader, writer, () => undefined);
      await aggregation.settle();
    },
    stop: () => {
      aggregation?.stop();
      authorizer.stop();
    },
  };
}

/** The caller by certificate, else by token, else anonymous. Invalid credentials are 401 unless another credential is valid. */
async function identify(credentials: Credentials, authenticators: Authenticators): Promise<UserInfo> {
  const token = bearerToken(credentials.authorization);
  const byCertificate = credentials.clientCertificate && tryCertificate(credentials.clientCertificate, authenticators);
  if (byCertificate) return byCertificate;
  if (token !== undefined) return await tryToken(token, authenticators);
  if (credentials.clientCertificate) throw unauthorized();
  return anonymous();
}

function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme = "", token = ""] = authorization?.trim().split(/\s+/) ?? [];
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

/** User objects by where they come from, so that one user is one object and RBAC's answers for it are found again. */
const marked = new WeakMap<UserInfo, UserInfo>();

function mark(user: UserInfo): UserInfo {
  const known = marked.get(user);
  if (known) return known;
  const full = withAuthenticated(user);
  marked.set(user, full);
  return full;
}

function tryCertificate(der: Uint8Array, { readCertificate }: Authenticators): UserInfo | undefined {
  try {
    return mark(readCertificate(der));
  } catch {
    return undefined; // Says nothing about why: that would help only an attacker. Answered 401 unless a token holds.
  }
}

async function tryToken(token: string, authenticators: Authenticators): Promise<UserInfo> {
  try {
    return (await readToken(token, authenticators.audiences, authenticators)).user;
  } catch {
    throw unauthorized();
  }
}

/** The user of a token. Static tokens are for the server's own audiences. */
async function readToken(
  token: string,
  wanted: string[],
  { staticTokens, accountTokens, audiences }: Authenticators,
): Promise<{ user: UserInfo; audiences: string[] }> {
  const known = findStatic(token, staticTokens);
  if (known) {
    const meant = audiences.filter((audience) => wanted.includes(audience));
    if (meant.length === 0) throw new Error("invalid bearer token");
    return { user: mark(known), audiences: meant };
  }
  const found = await accountTokens.verify(token, wanted);
  if (!found) throw new Error("invalid bearer token");
  return { user: mark(found.user), audiences: found.audiences };
}

/** Compares digests, so that its duration reveals nothing about a token. There are only a handful of tokens. */
function findStatic(token: string, tokens: Map<string, UserInfo>): UserInfo | undefined {
  const wanted = digest(token);
  for (const [known, user] of tokens) if (timingSafeEqual(digest(known), wanted)) return user;
  return undefined;
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
