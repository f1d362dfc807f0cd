// Login as UAA offers it: prompts, tokens, keys, and questions about tokens. Kubernetes authenticates; nothing is stored here.
import { endpoint, ok, type Endpoint, type Reply } from "../routing/endpoint.ts";
import type { LoginService, LoginSettings } from "../routing/login-service.ts";
import type { Services } from "../routing/services.ts";
import { sshCodeEndpoint } from "./ssh-code.ts";
import { form, tokenEndpoint } from "./token.ts";

const ANONYMOUS = { permission: "anonymous" } as const;

type LoginServices = Pick<Services, "login" | "ssh" | "now">;

export function loginEndpoints(services: LoginServices): readonly Endpoint[] {
  return [
    tokenEndpoint(services),
    sshCodeEndpoint(services),
    ...promptEndpoints(services),
    ...keyEndpoints(services),
    ...questionEndpoints(services),
    endpoint({
      method: "DELETE",
      path: "/oauth/token/revoke/:id",
      ...ANONYMOUS,
      summary: "Log out: the token stays valid until it expires or Kubernetes revokes its credential",
      handler: () => ok({}),
    }),
  ];
}

/** `cf` and other clients ask here for what to type. */
function promptEndpoints(services: LoginServices): Endpoint[] {
  return ["/login", "/info"].map((path) =>
    endpoint({
      method: "GET",
      path,
      ...ANONYMOUS,
      summary: "List the fields of a login",
      handler: ({ base }) =>
        ok({
          app: { version: "" },
          links: presentLinks(services.login.settings, base),
          zone_name: "uaa",
          entityID: base,
          prompts: {
            username: ["text", "User name in Kubernetes (empty: as the token says)"],
            password: ["password", "Token of Kubernetes"],
          },
        }),
    }),
  );
}

function presentLinks({ loginURL, uaaURL }: LoginSettings, base: string): object {
  return { login: loginURL ?? base, uaa: uaaURL ?? base };
}

function keyEndpoints(services: LoginServices): Endpoint[] {
  return [
    endpoint({
      method: "GET",
      path: "/token_keys",
      ...ANONYMOUS,
      summary: "List the keys that verify login tokens",
      handler: async () => ok({ keys: await services.login.tokens.publicKeys() }),
    }),
    endpoint({
      method: "GET",
      path: "/token_key",
      ...ANONYMOUS,
      summary: "Get the key that verifies new login tokens",
      handler: async () => ok((await services.login.tokens.publicKeys())[0] ?? {}),
    }),
    ...["/.well-known/openid-configuration", "/oauth/token/.well-known/openid-configuration"].map((path) =>
      endpoint({
        method: "GET",
        path,
        ...ANONYMOUS,
        summary: "Describe the login in the format of OpenID Connect",
        handler: ({ base }) => ok(presentDiscovery(base)),
      }),
    ),
  ];
}

function presentDiscovery(base: string): object {
  return {
    issuer: `${base}/oauth/token`,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    userinfo_endpoint: `${base}/userinfo`,
    jwks_uri: `${base}/token_keys`,
    introspection_endpoint: `${base}/introspect`,
    response_types_supported: ["code"],
    grant_types_supported: [
      "password",
      "client_credentials",
      "refresh_token",
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
    ],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    claims_supported: ["sub", "user_id", "user_name", "origin", "client_id", "scope"],
  };
}

function questionEndpoints(services: LoginServices): Endpoint[] {
  return [
    endpoint({
      method: "POST",
      path: "/introspect",
      ...ANONYMOUS,
      bodyFormat: "form",
      body: form,
      summary: "Say whether a login token is valid, and its claims",
      handler: async ({ body }) => {
        const claims = await findClaims(services.login, body["token"]);
        return ok(claims ? { ...claims, active: true } : { active: false });
      },
    }),
    endpoint({
      method: "POST",
      path: "/check_token",
      ...ANONYMOUS,
      bodyFormat: "form",
      body: form,
      summary: "Get the claims of a valid login token",
      handler: async ({ body }): Promise<Reply> => toClaimsReply(await findClaims(services.login, body["token"])),
    }),
    endpoint({
      method: "GET",
      path: "/userinfo",
      permission: "authenticated",
      summary: "Get the caller as OpenID Connect describes one",
      handler: ({ session: { caller } }) =>
        ok({ sub: caller.name, user_id: caller.name, user_name: caller.name, name: caller.name, origin: "kubernetes" }),
    }),
  ];
}

/** Undefined for a token that opens no request, also when Kubernetes has revoked its credential. */
async function findClaims(login: LoginService, token = ""): Promise<object | undefined> {
  const opened = await login.tokens.open(token, "access");
  return opened && (await login.review(opened.credential)) ? opened.claims : undefined;
}

function toClaimsReply(claims: object | undefined): Reply {
  if (claims) return ok(claims);
  return { status: 400, body: { error: "invalid_token", error_description: "The token is not valid here." } };
}
