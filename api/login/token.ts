// POST /oauth/token: checks a Kubernetes credential and seals it into tokens, or opens a refresh token and seals anew.
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { endpoint, type Endpoint, type Reply } from "../routing/endpoint.ts";
import type { LoginService } from "../routing/login-service.ts";
import type { Services } from "../routing/services.ts";
import { BAD_CREDENTIALS, type Grant, type LoginProblem, parseGrant } from "./grant.ts";
import { type ClientAddress, createLoginAttempts } from "./login-attempts.ts";
import { createEmptyTokens, createTokenResponse, type LoggedIn } from "./token-response.ts";

/** Fields of a form, by name. */
export const form = z.record(z.string(), z.string());
/** For answers with tokens. */
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

const EXPIRED: LoginProblem = {
  status: 401,
  error: "invalid_token",
  description:
    "The token expired, was revoked, or is of another installation. Log in again with a valid token of Kubernetes.",
};

type Credential = Extract<Grant, { kind: "credential" }>;
type Refresh = Extract<Grant, { kind: "refresh" }>;

export function tokenEndpoint(services: Pick<Services, "login" | "now">): Endpoint {
  const { login } = services;
  const attempts = createLoginAttempts();
  const emptyTokens = createEmptyTokens(login);
  return endpoint({
    method: "POST",
    path: "/oauth/token",
    permission: "anonymous",
    bodyFormat: "form",
    body: form,
    summary: "Log in with a token of Kubernetes, or refresh a login",
    handler: async ({ body, base, request }) => {
      const grant = parseGrant(body, request.headers.authorization);
      if ("error" in grant) return presentProblem(grant);
      if (grant.kind === "none") return presentTokens(await emptyTokens.get(services.now()));
      const loggedIn =
        grant.kind === "refresh"
          ? await refresh(login, grant)
          : await attempts.review({ address: clientAddress(request), credential: grant.credential }, () =>
              logIn(login, grant),
            );
      if (loggedIn === undefined) return presentProblem(grant.kind === "refresh" ? EXPIRED : BAD_CREDENTIALS);
      if ("waitSeconds" in loggedIn) return refuseFor(loggedIn.waitSeconds);
      const issuing = { login, issuer: `${base}/oauth/token`, now: services.now() };
      return presentTokens(await createTokenResponse(issuing, loggedIn));
    },
  });
}

/** Undefined when Kubernetes refuses the credential, or when it is another user's. */
async function logIn(
  login: LoginService,
  { credential, userName, clientId, grantType }: Credential,
): Promise<LoggedIn | undefined> {
  const caller = await login.review(credential);
  const isUser = caller && (userName ?? caller.name) === caller.name;
  return isUser ? { caller, credential, clientId, grantType } : undefined;
}

/** Counts as no attempt: a token that this installation did not seal costs no review, and the reviews of one credential share their answer. */
async function refresh(
  login: LoginService,
  { refreshToken, clientId, grantType }: Refresh,
): Promise<LoggedIn | undefined> {
  const opened = await login.tokens.open(refreshToken, "refresh");
  const caller = opened && (await login.review(opened.credential));
  return caller ? { caller, credential: opened.credential, clientId, grantType } : undefined;
}

/** The closest proxy appends the address that it saw. */
function clientAddress({ socket, headers }: IncomingMessage): ClientAddress {
  const forwarded = [headers["x-forwarded-for"] ?? []].flat().join().split(",").at(-1)?.trim();
  return { peer: socket.remoteAddress ?? "", forwarded: forwarded?.slice(0, 64) || undefined };
}

function presentTokens(tokens: object): Reply {
  return { status: 200, body: tokens, headers: NO_STORE };
}

function presentProblem({ status, error, description }: LoginProblem): Reply {
  return { status, body: { error, error_description: description }, headers: NO_STORE };
}

function refuseFor(seconds: number): Reply {
  const error_description = `Too many logins failed from this address. Try again in ${seconds} seconds.`;
  return {
    status: 429,
    body: { error: "too_many_requests", error_description },
    headers: { "retry-after": String(seconds) },
  };
}
