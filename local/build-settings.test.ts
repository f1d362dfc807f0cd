// User settings that reach builds on a laptop.
import { expect, test } from "vitest";
import { readBuildSettings } from "./build-settings.ts";

const none = (): boolean => false;

test("proxies, certificate authorities and registries, in the case they have", () => {
  const env = {
    HTTPS_PROXY: "http://proxy:3128",
    no_proxy: "localhost",
    NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
    SSL_CERT_FILE: "/etc/ca.pem",
    npm_config_registry: "https://npm.example.org",
    GOPROXY: "https://go.example.org",
    PIP_INDEX_URL: "https://pip.example.org",
  };
  expect(readBuildSettings(env, "/home/me", none)).toEqual(env);
});

test("nothing else: any other variable may be a credential", () => {
  const env = {
    AWS_SECRET_ACCESS_KEY: "x",
    HOME: "/home/me",
    PATH: "/bin",
    NPM_TOKEN: "x",
    npm_config_cache: "/c",
    HTTP_PROXY: "",
  };
  expect(readBuildSettings(env, "/home/me", none)).toEqual({});
});

test("files of the user's home, which a build does not have", () => {
  const files = ["/home/me/.npmrc", "/home/me/.pip/pip.conf", "/home/me/.config/go/env", "/home/me/.m2/settings.xml"];
  expect(readBuildSettings({}, "/home/me", (path) => files.includes(path))).toEqual({
    NPM_CONFIG_USERCONFIG: "/home/me/.npmrc",
    PIP_CONFIG_FILE: "/home/me/.pip/pip.conf",
    GOENV: "/home/me/.config/go/env",
    MAVEN_ARGS: "--settings=/home/me/.m2/settings.xml",
  });
});

test("a file that the environment names wins", () => {
  expect(readBuildSettings({ npm_config_userconfig: "/work/.npmrc" }, "/home/me", () => true)).toMatchObject({
    npm_config_userconfig: "/work/.npmrc",
  });
  expect(readBuildSettings({ npm_config_userconfig: "/work/.npmrc" }, "/home/me", () => true)).not.toHaveProperty(
    "NPM_CONFIG_USERCONFIG",
  );
});
