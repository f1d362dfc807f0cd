// Answers of login, in the shapes of UAA.
import { z } from "zod";
import { flag, integer, named, text, textMap } from "./schema-parts.ts";

export const tokens = named(
  "LoginTokens",
  z.strictObject({
    access_token: text,
    refresh_token: text.optional(),
    token_type: z.literal("bearer"),
    expires_in: integer,
    scope: text,
    jti: text,
  }),
);

export const prompts = named(
  "LoginPrompts",
  z.strictObject({
    app: z.strictObject({ version: text }),
    links: textMap,
    zone_name: text,
    entityID: text,
    prompts: z.record(z.string(), z.tuple([z.enum(["text", "password"]), text])),
  }),
);

export const key = named(
  "LoginKey",
  z.strictObject({
    kty: z.literal("RSA"),
    use: z.literal("sig"),
    alg: z.literal("RS256"),
    kid: text,
    n: text,
    e: text,
    value: text,
  }),
);

export const keys = named("LoginKeys", z.strictObject({ keys: z.array(key) }));

const claimFields = {
  jti: text,
  sub: text,
  user_id: text,
  user_name: text,
  origin: text,
  client_id: text,
  cid: text,
  azp: text,
  grant_type: text,
  scope: z.array(text),
  iss: text,
  aud: z.array(text),
  iat: integer,
  exp: integer,
};

export const claims = named("LoginClaims", z.strictObject(claimFields));

export const introspection = named(
  "LoginIntrospection",
  z.union([z.strictObject({ active: z.literal(false) }), z.strictObject({ ...claimFields, active: flag })]),
);

export const userInfo = named(
  "LoginUserInfo",
  z.strictObject({ sub: text, user_id: text, user_name: text, name: text, origin: text }),
);
