// Authenticates the callers of requests, and reviews tokens for the endpoints of login.
import type { Logger } from "pino";
import type { KubeClient } from "../kube/client/client.ts";
import { BEING_ADMIN } from "./access/is-admin.ts";
import { createCallerPermissions, type CallerPermissionsDeps } from "./access/create-caller-permissions.ts";
import { declaredPermissions } from "./access/declared-permissions.ts";
import type { AccessAttributes } from "./cache/rbac-authorizer.ts";
import { createAuthenticator, createReviewer, toCaller } from "./identity/authenticate.ts";
import type { Caller } from "./identity/caller.ts";
import { createLoginTokens } from "./identity/login-tokens.ts";
import { createTokenIssuer, type TokenIssuerSettings } from "./identity/token-issuer.ts";
import type { LoginService, LoginSettings } from "./routing/login-service.ts";

/** Deadline of a permission check outside of a session, milliseconds. */
const DECIDE_TIMEOUT_MS = 10_000;
/** Each question is decided on its own, so none is reviewed in advance. */
const IMPERSONATION = declaredPermissions({ method: "GET", path: "", permission: "authenticated" });

export interface CallerIdentityDeps {
  client: KubeClient;
  tokenIssuer?: TokenIssuerSettings;
  login?: LoginSettings;
  log: Logger;
  now: () => Date;
}

export interface CallerIdentity {
  login: LoginService;
  authenticate: ReturnType<typeof createAuthenticator>;
}

/** `permissions` are asked once requests come: the endpoints, from which they follow, need the login. @throws Error when the issuer's settings are unsafe */
export function createCallerIdentity(
  { client, tokenIssuer, login: settings = { tokenLoginHosts: [] }, log, now }: CallerIdentityDeps,
  permissions: () => CallerPermissionsDeps,
): CallerIdentity {
  const review = createReviewer({ client, issuer: tokenIssuer && createTokenIssuer(tokenIssuer, { now, log }), now });
  const tokens = createLoginTokens({ client, now });
  const decide = (caller: Caller, asked: AccessAttributes): Promise<boolean> =>
    createCallerPermissions(permissions(), {
      caller,
      signal: AbortSignal.timeout(DECIDE_TIMEOUT_MS),
      declared: IMPERSONATION,
      writes: true,
    }).decide(asked);
  const reviewToken: LoginService["review"] = async (token) => {
    const credential = { kind: "token", token } as const;
    const reviewed = await review(credential);
    return reviewed && toCaller(reviewed, credential);
  };
  return {
    login: { settings, tokens, review: reviewToken, isAdmin: (caller) => decide(caller, BEING_ADMIN) },
    authenticate: createAuthenticator({ review, loginTokens: tokens, decide }),
  };
}
