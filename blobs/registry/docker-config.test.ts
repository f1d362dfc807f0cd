// Which credentials a registry gets, and that a wrong file is named without its content.
import { expect, test } from "vitest";
import { findCredentials, parseDockerConfig } from "./docker-config.ts";

const auth = (text: string): { auth: string } => ({ auth: Buffer.from(text).toString("base64") });
const config = parseDockerConfig(
  JSON.stringify({
    auths: {
      "registry.example:5000": auth("all:pass:with:colons"),
      "https://Registry.Example:5000/team/": { username: "team", password: "secret" },
      "https://index.docker.io/v1/": auth("hub:pw"),
      "*.cloud.example": auth("any:pw"),
      "token.example": { identitytoken: "refresh", username: "<token>", password: "" },
      "empty.example": {},
    },
  }),
);

test.each([
  ["registry.example:5000", "other/app", { username: "all", password: "pass:with:colons" }],
  ["registry.example:5000", "team/app", { username: "team", password: "secret" }],
  ["registry.example:5000", "teams/app", { username: "all", password: "pass:with:colons" }],
  ["docker.io", "library/busybox", { username: "hub", password: "pw" }],
  ["eu.cloud.example", "app", { username: "any", password: "pw" }],
  ["a.b.cloud.example", "app", undefined],
  ["registry.example", "team/app", undefined],
  ["evil.example", "registry.example:5000", undefined],
  ["token.example", "app", { identityToken: "refresh" }],
  ["empty.example", "app", undefined],
])("%s/%s", (host, repository, credentials) => {
  expect(findCredentials(config, host, repository)).toEqual(credentials);
});

test.each([
  ["not JSON", "password=hunter2", /this is not JSON/],
  ["no auths", '{"a":"hunter2"}', /no object "auths"/],
  ["a helper", '{"credsStore":"hunter2"}', /credential helpers are not supported/],
  ["no password", JSON.stringify({ auths: { x: auth("hunter2") } }), /"auth" of "x" is not user:password/],
])("refused: %s", (_name, text, reason) => {
  expect(() => parseDockerConfig(text)).toThrow(reason);
  expect(() => parseDockerConfig(text)).not.toThrow("hunter2");
});
