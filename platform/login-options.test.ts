// The options for token login: defaults and refused values.
import { Command } from "commander";
import { expect, test } from "vitest";
import { addLoginOptions, toLoginSettings, type LoginOptions } from "./login-options.ts";

function parse(...args: string[]): ReturnType<typeof toLoginSettings> {
  const command = addLoginOptions(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return toLoginSettings(command.parse(["node", "cupola", ...args]).opts<LoginOptions>());
}

const HOSTS = ["--token-login-hosts", "login.example.org,API.example.net"];
const hosts = ["login.example.org", "api.example.net"];
const UAA = ["--login-url", "https://login.uaa.example/", "--uaa-url", "https://uaa.example"];

test.each([
  ["no token login", [], { tokenLoginHosts: [] }],
  ["hosts", HOSTS, { tokenLoginHosts: hosts }],
  [
    "an existing UAA",
    [...HOSTS, ...UAA],
    { tokenLoginHosts: hosts, loginURL: "https://login.uaa.example", uaaURL: "https://uaa.example" },
  ],
])("%s", (_what, args, settings) => {
  expect(parse(...args)).toEqual(settings);
});

test.each([
  ["a host with a scheme", ["--token-login-hosts", "https://login.example.org"], /neither a scheme nor a port/],
  ["a host with a port", ["--token-login-hosts", "login.example.org:443"], /neither a scheme nor a port/],
  ["a UAA without hosts", UAA, /go with --token-login-hosts/],
  ["half of a UAA", [...HOSTS, ...UAA.slice(2)], /go together/],
  ["a UAA that anybody may read", [...HOSTS, "--uaa-url", "http://uaa.example"], /https URL/],
])("%s is refused", (_what, args, problem) => {
  expect(() => parse(...args)).toThrow(problem);
});
