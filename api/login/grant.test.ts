// Which credential a request of /oauth/token gives, as each client sends it.
import { expect, test } from "vitest";
import { MAX_CREDENTIAL, parseGrant } from "./grant.ts";

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
const CF = basic("cf:");
const ACCOUNT = "system:serviceaccount:ci:deployer";
const BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

test.each([
  [
    "cf login -u -p",
    { grant_type: "password", username: "ann", password: "t.o.k" },
    CF,
    { grantType: "password", clientId: "cf", kind: "credential", credential: "t.o.k", userName: "ann" },
  ],
  [
    "a password without a name",
    { grant_type: "password", username: "", password: "t.o.k" },
    CF,
    { grantType: "password", clientId: "cf", kind: "credential", credential: "t.o.k", userName: undefined },
  ],
  [
    "cf auth --client-credentials, whose client is in the form",
    { grant_type: "client_credentials", client_id: ACCOUNT, client_secret: "t.o.k" },
    undefined,
    { grantType: "client_credentials", clientId: ACCOUNT, kind: "credential", credential: "t.o.k", userName: ACCOUNT },
  ],
  [
    "a client in the header, with colons in its name",
    { grant_type: "client_credentials" },
    basic(`${ACCOUNT}:t.o.k`),
    { grantType: "client_credentials", clientId: ACCOUNT, kind: "credential", credential: "t.o.k", userName: ACCOUNT },
  ],
  [
    "a client in the header, encoded as OAuth 2 has it",
    { grant_type: "client_credentials" },
    basic(`${encodeURIComponent(ACCOUNT)}:t%2Bk`),
    { grantType: "client_credentials", clientId: ACCOUNT, kind: "credential", credential: "t+k", userName: ACCOUNT },
  ],
  [
    "an assertion",
    { grant_type: BEARER, assertion: "t.o.k" },
    CF,
    { grantType: BEARER, clientId: "cf", kind: "credential", credential: "t.o.k", userName: undefined },
  ],
  [
    "a refresh token",
    { grant_type: "refresh_token", refresh_token: "t.o.k" },
    CF,
    { grantType: "refresh_token", clientId: "cf", kind: "refresh", refreshToken: "t.o.k" },
  ],
  [
    "cf with a kubeconfig, which never got a refresh token",
    { grant_type: "refresh_token", refresh_token: "" },
    CF,
    { grantType: "refresh_token", clientId: "cf", kind: "none" },
  ],
] as const)("%s", (_what, form, authorization, grant) => {
  expect(parseGrant(form, authorization)).toEqual(grant);
});

test.each([
  ["no grant type", {}, "unsupported_grant_type", /grant_type is missing/],
  ["another grant type", { grant_type: "authorization_code" }, "unsupported_grant_type", /there are password/],
  ["no password", { grant_type: "password", username: "ann" }, "invalid_request", /password is missing/],
  ["no refresh token", { grant_type: "refresh_token" }, "invalid_request", /refresh_token is missing/],
  [
    "an empty refresh token of another client",
    { grant_type: "refresh_token", refresh_token: "", client_id: "ci" },
    "invalid_request",
    /refresh_token is missing/,
  ],
  [
    "a credential that is too long",
    { grant_type: "password", password: "a".repeat(MAX_CREDENTIAL + 1) },
    "invalid_request",
    /as bearer token/,
  ],
  [
    "a client id that is too long",
    { grant_type: "client_credentials", client_id: "a".repeat(257), client_secret: "x" },
    "invalid_request",
    /more than 256/,
  ],
  ["a second header", { grant_type: "password", password: "a\r\nx: y" }, "unauthorized", /does not accept/],
] as const)("%s is refused", (_what, form, error, description) => {
  expect(parseGrant(form, CF)).toEqual({
    status: expect.any(Number),
    error,
    description: expect.stringMatching(description),
  });
});
