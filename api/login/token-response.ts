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

/** Tokens that open no request, for the client `cf` that never got one. */
export interface EmptyTokens {
  get(now: Date): Promise<object>;
}

const EMPTY_TOKEN_ISSUER = "urn:cupola:no-login";
/** A token is answered again for half its life: anybody may ask, and each signature costs a millisecond. */
const EMPTY_TOKEN_REUSE_SECONDS = ACCESS_SECONDS / 2;

export function createEmptyTokens(login: Pick<LoginService, "tokens">): EmptyTokens {
  let kept: { signed: Promise<{ jti: string; token: string }>; madeAt: number } | undefined;
  const sign = async (expiresAt: number): Promise<{ jti: string; token: string }> => {
    const claims = toClaims("", { clientId: "cf", grantType: "refresh_token" }, []);
    const content = { issuer: EMPTY_TOKEN_ISSUER, claims, credential: undefined, expiresAt };
    return { jti: claims.jti, token: await login.tokens.seal({ use: "access", ...content }) };
  };
  return {
    async get(now) {
      const seconds = Math.floor(now.getTime() / 1000);
      if (!kept || Math.abs(seconds - kept.madeAt) >= EMPTY_TOKEN_REUSE_SECONDS)
        kept = { signed: sign(seconds + ACCESS_SECONDS), madeAt: seconds };
      const { signed, madeAt } = kept;
      try {
        const { jti, token } = await signed;
        const lifetime = presentLifetime(madeAt + ACCESS_SECONDS - seconds, []);
        return { access_token: token, refresh_token: "", ...lifetime, jti };
      } catch (cause) {
        kept = undefined;
        throw cause;
      }
    },
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
