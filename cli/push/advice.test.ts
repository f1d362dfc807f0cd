// The next step of failures that many people meet.
import { describe, expect, test } from "vitest";
import {
  adviseBuild,
  adviseCrash,
  adviseRefusal,
  meaningOfExit,
  repeatSource,
  shortenBuildError,
  toDev,
} from "./advice.ts";

describe("a failed build", () => {
  test.each([
    [
      "a lockfile out of step",
      "npm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync.",
      /^npm install/,
    ],
    [
      "a package that does not exist",
      "npm error 404  'no-such-thing@^1.0.0' is not in this registry.",
      /no-such-thing in package\.json/,
    ],
    [
      "a package that does not exist, as newer npm says it",
      "npm error 404  The requested resource 'no-such-thing@1.0.0' could not be found or you do not have permission to access it.",
      /no-such-thing in package\.json/,
    ],
    [
      "a variable that Django's settings miss",
      "python manage.py collectstatic --noinput failed with status 1: KeyError: 'SECRET_KEY'. Next: cf set-env APP SECRET_KEY VALUE, or cf set-env APP DISABLE_COLLECTSTATIC 1; then push again",
      /^cup set-env shop SECRET_KEY VALUE && cup push shop$/,
    ],
    ["fonts of the web", "Failed to fetch `Geist Mono` from Google Fonts.", /next\/font\/local/],
    ["of Python", "ERROR: No matching distribution found for flaskk==1", /flaskk==1 in requirements\.txt/],
    [
      "of Go",
      "main.go:3:8: no required module provides package github.com/a/b; to add it:",
      /^go get github\.com\/a\/b,/,
    ],
    ["a network that is not there", "npm error code ENOTFOUND", /^cup doctor/],
    [
      "a missing toolchain",
      "PHP is not installed on this machine: there is no php on the PATH. Next: install it (php.net)",
      /^install it \(php\.net\), then: cup push shop$/,
    ],
    [
      "a compiler without memory",
      "FATAL ERROR: JavaScript heap out of memory",
      /-m 2G, which gives the build as much$/,
    ],
    ["a build that is too large", "the build used more than its 4096 MB of disk (x)", /\.cfignore/],
    ["a package called memory", "added memory-cache@0.2.0", /^correct what the log says/],
    ["something else", "make: *** [all] Error 2", /^correct what the log says, then: cup push shop$/],
  ])("%s", (_what, line, next) => {
    const message = "BuildpackCompileFailed - App staging failed in the buildpack compile phase: bin/build failed";
    expect(adviseBuild({ app: "shop", message, lines: ["-----> Installing", line, "last"] })).toMatch(next);
  });

  test("nothing that a buildpack knows", () => {
    const message = "NoAppDetectedError: An app was not successfully detected by any available buildpack";
    expect(adviseBuild({ app: "shop", message, lines: [] })).toContain("cup push shop --path FOLDER");
    const known = `${message}: none of the buildpacks fits the app: it has a.py, which is Python. Next: add a requirements.txt. The buildpacks said: cupola/go@0.1.0: no go.mod`;
    expect(adviseBuild({ app: "shop", message: known, lines: [] })).toBe("add a requirements.txt, then: cup push shop");
  });
});

test("a build's error is short: its log stands above, its next step below", () => {
  const message =
    "BuildpackCompileFailed - App staging failed in the buildpack compile phase: cupola/nodejs 0.1.0 ended with 1, saying: npm error\nnpm ci failed. Next: run npm install";
  expect(shortenBuildError(message)).toBe("cupola/nodejs 0.1.0 ended with 1");
  expect(adviseBuild({ app: "shop", message: "make failed. Next: run make here", lines: [] })).toBe("run make here");
});

test("what the API refuses", () => {
  const message = 'Specified unknown buildpack name: "x"';
  expect(adviseRefusal({ app: "shop", message, lines: [] })).toContain("cup push shop -b NAME");
  expect(adviseRefusal({ app: "shop", message: "no", lines: [] })).toBe(
    "correct the manifest or the option, then: cup push shop",
  );
});

describe("a crash", () => {
  test.each([
    [
      "a workspace whose app is not clear",
      "       warning: no start command found: each of apps/api, apps/web could be the app. Next: choose one, BP_NODE_PROJECT_PATH=apps/api (cf set-env), or give ...",
      "cup set-env shop BP_NODE_PROJECT_PATH apps/api && cup push shop",
    ],
    [
      "a start that the build misses",
      "       warning: no start command found: there is no app.py. Next: write a Procfile (web: COMMAND)",
      "write a Procfile (web: COMMAND), then: cup push shop",
    ],
    [
      "a missing package of Node.js",
      "Error: Cannot find module 'express'",
      "npm install express, which adds it to package.json, then: cup push shop",
    ],
    ["a missing file", "Error: Cannot find module '/home/me/app/servr.js'", "does servr.js exist?"],
    ["a missing package of Python", "ModuleNotFoundError: No module named 'flask'", "add flask to requirements.txt"],
    [
      "a missing variable of Python",
      "KeyError: 'DATABASE_URL'",
      "cup set-env shop DATABASE_URL VALUE && cup restart shop",
    ],
    ["a missing variable", "Error: DATABASE_URL is not set", "cup set-env shop DATABASE_URL VALUE && cup restart shop"],
    ["a port of its own", "Error: listen EADDRINUSE: address already in use :::3000", "listen on the port in PORT"],
    ["a mistyped line", "SyntaxError: Unexpected token '}'", "correct the line above"],
    ["a program that is not there", "/bin/bash: line 1: servr: command not found", 'cup push shop -c "START COMMAND"'],
    ["a program that dash does not find", "sh: 1: servr: not found", 'cup push shop -c "START COMMAND"'],
    ["a page that is not there", "GET /favicon.ico 404 Page not found", "cup logs shop --recent shows more"],
    ["something else", "boom", "cup logs shop --recent shows more"],
  ])("%s", (_what, line, next) => {
    const message = "APP/PROC/WEB: Exited with status 1; cf logs --recent shows its last lines";
    expect(adviseCrash({ app: "shop", message, lines: [line] })).toContain(next);
  });

  test.each([
    ["out of memory: it may use 128 MB", "cup scale shop -m 512M"],
    ["disk quota exceeded: it may use 64 MB", "cup scale shop -k 2G"],
  ])("%s", (why, next) => {
    const message = `APP/PROC/WEB: Exited with status 137 (${why}); give it more`;
    expect(adviseCrash({ app: "shop", message, lines: ["SyntaxError: of an earlier try"] })).toContain(next);
    expect(meaningOfExit(message)).toBeUndefined();
  });

  test("a status is explained", () => {
    expect(meaningOfExit("APP/PROC/WEB: Exited with status 127; x")).toBe("its start command was not found");
    expect(meaningOfExit("APP/PROC/WEB: Exited with status 3; x")).toBeUndefined();
    expect(meaningOfExit("Instance never healthy after 60s: x")).toBeUndefined();
  });
});

test("an app whose name has a space is quoted", () => {
  const fault = { app: "x y", message: "no", lines: [] };
  expect(adviseBuild(fault)).toMatch(/cup push 'x y'$/);
  expect(adviseBuild({ ...fault, message: "out of memory" })).toContain("cup push 'x y' -m 2G");
  expect(adviseCrash(fault)).toBe("cup logs 'x y' --recent shows more; correct it, then: cup push 'x y'");
  expect(adviseRefusal(fault)).toMatch(/cup push 'x y'$/);
});

describe("the next step names the source as the person did", () => {
  const path = "~/my-shop";
  test.each([
    ["at the end", "correct it, then: cup push shop", { path }, "correct it, then: cup push shop --path ~/my-shop"],
    ["before an option", 'cup push shop -c "START"', { path }, 'cup push shop --path ~/my-shop -c "START"'],
    ["before a full stop", "cup push a.b. Without", { path }, "cup push a.b --path ~/my-shop. Without"],
    ["with a folder already", "cup push shop --path FOLDER", { path }, "cup push shop --path FOLDER"],
    ["without an app", "cup push --path FOLDER", { path }, "cup push --path FOLDER"],
    ["where it has a space", "cup push shop", { path: "my shop" }, "cup push shop --path 'my shop'"],
    ["a manifest", "cup push shop", { manifest: "m.yml" }, "cup push shop --manifest m.yml"],
    ["before --path, of an app with a full stop", "cup push a.b --path FOLDER", { path }, "cup push a.b --path FOLDER"],
    ["after an app with a comma", "cup push a,b, then", { path }, "cup push a,b --path ~/my-shop, then"],
    ["after a quoted app", "cup push 'x, y' -m 2G", { path }, "cup push 'x, y' --path ~/my-shop -m 2G"],
    ["after an app with an apostrophe", "cup push 'it'\\''s x'.", { path }, "cup push 'it'\\''s x' --path ~/my-shop."],
    ["of a quoted app with a folder", "cup push 'x y' --path FOLDER", { path }, "cup push 'x y' --path FOLDER"],
    ["of cup dev", "cup dev APP", { manifest: "m.yml" }, "cup dev APP --manifest m.yml"],
    ["this folder", "cup push shop", { manifest: false as const }, "cup push shop"],
  ])("%s", (_, next, options, expected) => {
    expect(repeatSource(next, options)).toBe(expected);
  });
});

describe("cup dev", () => {
  test.each([
    ["go get x, then: cup push shop", "go get x, then: cup dev shop"],
    ["cup push shop -m 2G, which gives the build as much", "cup dev shop -m 2G, which gives the build as much"],
    ["name it in .cfignore; or push by hand: cup push APP", "name it in .cfignore; or push by hand: cup push APP"],
    ["cup buildpacks", "cup buildpacks"],
  ])("that could not begin: %s", (next, expected) => expect(toDev(next, false)).toBe(expected));

  test.each([
    ["go get x, then: cup push shop", "go get x; cup dev pushes what you save"],
    ["cup set-env shop A VALUE && cup push shop", "Ctrl-C, then: cup set-env shop A VALUE && cup dev shop"],
    ["cup push shop -m 2G, which helps", "Ctrl-C, then: cup dev shop -m 2G, which helps"],
    [
      "cup logs shop --recent shows more; correct it, then: cup push 'my shop'",
      "cup logs shop --recent shows more; correct it; cup dev pushes what you save",
    ],
    ["cup set-env shop A VALUE && cup restart shop", "cup set-env shop A VALUE && cup restart shop"],
  ])("that watches: %s", (next, expected) => expect(toDev(next, true)).toBe(expected));
});
