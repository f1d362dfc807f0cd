// The answer of /oauth/token: an access token with the claims that clients read, and a refresh token.
import { randomUUID } from "node:crypto";
import type { JWTPayload } from "jose";
import { tokenExpiry } from "../identity/authenticate.ts";
import type { LoginService } from "../routing/login-service.ts";
import type { Caller } from "../identity/caller.ts";

const ACCESS_SECONDS = 600;
const SCOPES = ["cloud_controller.read", "cloud_controller.write", "openid"];

export interface LoggedIn {
  caller: Caller;
  credential: string;
  clientId: string;
  grantType: string;
}

interface Issuing {
  login: LoginService;
  issuer: string;
  now: Date;
}

/** Both tokens end with the credential. The refresh token of one that does not expire does not expire either. */
export async function createTokenResponse({ login, issuer, now }: Issuing, loggedIn: LoggedIn): Promise<object> {
  const { credential, grantType } = loggedIn;
  const credentialEnd = tokenExpiry(credential);
  const seconds = Math.floor(now.getTime() / 1000);
  const expiresAt = Math.min(seconds + ACCESS_SECONDS, credentialEnd ?? Infinity);
  const scope = [...SCOPES, ...((await login.isAdmin(loggedIn.caller)) ? ["cloud_controller.admin"] : [])];
  const claims = toClaims(loggedIn.caller.name, loggedIn, scope);
  const { tokens } = login;
  return {
    access_token: await tokens.seal({ use: "access", issuer, claims, credential, expiresAt }),
    ...(grantType !== "client_credentials" && {
      refresh_token: await tokens.seal({
        use: "refresh",
        issuer,
        claims: { ...claims, jti: newId() },
        credential,
        expiresAt: credentialEnd,
      }),
    }),
    ...presentLifetime(expiresAt - seconds, scope),
    jti: claims.jti,
  };
}

/** For a client that refreshes a token which it never got: `cf` with a kubeconfig does, and sends the answer nowhere. Opens no request. */
export async function createEmptyTokenResponse({ login, issuer, now }: Issuing, clientId: string): Promise<object> {
  const claims = toClaims("", { clientId, grantType: "refresh_token" }, []);
  const expiresAt = Math.floor(now.getTime() / 1000) + ACCESS_SECONDS;
  return {
    access_token: await login.tokens.seal({ use: "access", issuer, claims, credential: undefined, expiresAt }),
    refresh_token: "",
    ...presentLifetime(ACCESS_SECONDS, []),
    jti: claims.jti,
  };
}

function presentLifetime(expires_in: number, scope: readonly string[]): object {
  return { token_type: "bearer", expires_in, scope: scope.join(" ") };
}

function newId(): string {
  return randomUUID().replaceAll("-", "");
}

/** As UAA has them. A user's GUID is the Kubernetes user name. */
function toClaims(
  name: string,
  { clientId, grantType }: Pick<LoggedIn, "clientId" | "grantType">,
  scope: string[],
): JWTPayload & { jti: string } {
  return {
    jti: newId(),
    sub: name,
    user_id: name,
    user_name: name,
    origin: "kubernetes",
    client_id: clientId,
    cid: clientId,
    azp: clientId,
    grant_type: grantType,
    scope,
  };
}
