// The options for a token issuer: defaults and refused values.
import { expect, test } from "vitest";
import { toTokenIssuerSettings } from "./token-issuer-options.ts";

const url = "https://uaa.example/oauth/token";

test.each([
  ["none", {}, undefined],
  [
    "the issuer alone",
    { tokenIssuer: url },
    { url, audience: "cloud_controller", userClaim: "sub", prefix: `${url}#` },
  ],
  [
    "as for UAA",
    { tokenIssuer: url, tokenUserClaim: "user_name", tokenGroupsClaim: "scope", userPrefix: "uaa:" },
    { url, audience: "cloud_controller", userClaim: "user_name", groupsClaim: "scope", prefix: "uaa:" },
  ],
])("%s", (_what, options, settings) => {
  expect(toTokenIssuerSettings(options)).toEqual(settings);
});

test.each([
  ["an option without the issuer", { userPrefix: "uaa:" }, /go with --token-issuer/],
  ["no prefix", { tokenIssuer: url, userPrefix: "" }, /prefix/],
  ["the cluster's prefix", { tokenIssuer: url, userPrefix: "system:" }, /system:/],
  ["keys that anybody may change", { tokenIssuer: "http://uaa.example" }, /https/],
  ["any audience", { tokenIssuer: url, tokenAudience: "" }, /audience/],
  ["a file that is not there", { tokenIssuer: url, tokenCa: "/nowhere/ca.pem" }, /ENOENT/],
])("%s is refused", (_what, options, problem) => {
  expect(() => toTokenIssuerSettings(options)).toThrow(problem);
});
