// Decisions of the Node.js buildpack: package managers, versions and start commands, by the files of an app.
import { describe, expect, test } from "vitest";
import { useAppFolder, type Files } from "./testing/fixtures.ts";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { takesBun, withBun } from "./buildpacks/nodejs/bun.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { wantedNode } from "./buildpacks/nodejs/node-version.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { choosePackageManager } from "./buildpacks/nodejs/package-manager.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findStart as findNodeStart, isSinglePage } from "./buildpacks/nodejs/start.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findNeededDevDependency, mayNeedDev } from "./buildpacks/nodejs/start-programs.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { adapterSettings } from "./buildpacks/nodejs/sveltekit.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findCandidates, listMembers, planBuilds } from "./buildpacks/nodejs/workspaces.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { requireWorkspace, startsItself } from "./buildpacks/nodejs/workspaces.mjs";

const app = useAppFolder();

describe("Node.js", () => {
  test.each<[string, Files, object, object]>([
    ["npm without a lockfile", {}, {}, { name: "npm", lock: undefined }],
    ["npm's lockfile", { "package-lock.json": "{}" }, {}, { name: "npm", lock: "package-lock.json" }],
    [
      "pnpm's lockfile, of pnpm 8",
      { "pnpm-lock.yaml": "lockfileVersion: '6.0'\n" },
      {},
      { name: "pnpm", version: "8", lock: "pnpm-lock.yaml" },
    ],
    ["Yarn's classic lockfile", { "yarn.lock": "# yarn lockfile v1\n" }, {}, { name: "yarn", version: "1" }],
    ["Yarn's lockfile", { "yarn.lock": "__metadata:\n  version: 8\n" }, {}, { name: "yarn", version: "4" }],
    ["Bun's lockfile", { "bun.lock": "{}" }, {}, { name: "bun", version: "1", lock: "bun.lock" }],
    ["Bun's binary lockfile", { "bun.lockb": "" }, {}, { name: "bun", version: "1", lock: "bun.lockb" }],
    ["Bun by name", {}, { packageManager: "bun@1.2.23" }, { name: "bun", version: "1.2.23", why: "packageManager" }],
    [
      "packageManager wins over another lockfile",
      { "package-lock.json": "{}" },
      { packageManager: "pnpm@9.1.0+sha512.abc" },
      { name: "pnpm", version: "9.1.0", lock: undefined, why: "packageManager" },
    ],
  ])("package manager: %s", async (_name, files, description, expected) => {
    await app.write(files);
    expect(choosePackageManager(app.path, description)).toMatchObject(expected);
  });

  test("an unknown package manager is refused", () => {
    expect(() => choosePackageManager(app.path, { packageManager: "vlt@1.2.0" })).toThrow(
      /Next: use npm, pnpm, yarn or bun/,
    );
  });

  test.each<[Files, object, object | undefined]>([
    [{}, {}, undefined],
    [{ ".nvmrc": "v20\n" }, {}, { range: "20", source: ".nvmrc" }],
    [{ ".nvmrc": "v20\n" }, { engines: { node: "22.x" } }, { range: "22.x", source: "engines.node" }],
  ])("version: %j, %j", async (files, description, expected) => {
    await app.write(files);
    expect(wantedNode(app.path, description)).toEqual(expected);
  });

  test.each<[string, Files, string | undefined]>([
    ["bun run src/index.ts", {}, "bun run src/index.ts"],
    ["exec /x/bun server.js", {}, "exec /x/bun server.js"],
    ["node index.ts", { "index.ts": "" }, "bun index.ts"],
    ["node index.js", { "index.js": "Bun.serve({})" }, "bun index.js"],
    ["node index.js", { "index.js": 'import { Database } from "bun:sqlite"' }, "bun index.js"],
    ["node index.js", { "index.js": 'require("./bundle")' }, undefined],
    ["next start", {}, undefined],
    ["node bundle.js", {}, undefined],
  ])("the start %s of an app that Bun installs, %j, needs Bun: %s", async (command, files, expected) => {
    await app.write(files);
    expect(withBun(app.path, command)).toBe(expected);
  });

  const byNode = { command: "node server.js" };
  test.each<[string, object, boolean]>([
    ["starts by Node", { start: byNode }, false],
    ["starts by Bun", { start: { command: "bun server.ts" } }, true],
    [
      "has a web process of Node and a worker of Bun",
      { procfile: { web: byNode.command, worker: "bun w.ts" }, start: byNode },
      true,
    ],
    ["has a worker of Bun alone, and starts by Node", { procfile: { worker: "bun w.ts" }, start: byNode }, true],
    ["has processes of Node", { procfile: { web: byNode.command, worker: "node w.js" }, start: byNode }, false],
    ["has no start command, so that -c gives it", {}, true],
    ["has a worker of Node, and no start command of web", { procfile: { worker: "node w.js" } }, true],
    ["is a site", { start: { site: "dist" } }, false],
  ])("an app that Bun installs and that %s, %j, takes Bun along: %s", (_, starts, expected) => {
    expect(takesBun(app.path, starts)).toBe(expected);
  });

  const built = { scripts: { build: "x" } };
  test.each<[string, Files, object, object | undefined]>([
    ["a start script", {}, { scripts: { start: "node a.js" } }, { command: "node a.js" }],
    [
      "a production script before a server for development",
      { "src/main.ts": "" },
      { scripts: { start: "nest start", "start:prod": "node dist/main" } },
      { command: "node dist/main" },
    ],
    [
      "the files of a build before a server for development",
      { "build/index.html": "" },
      { scripts: { start: "react-scripts start", build: "react-scripts build" } },
      { site: "build" },
    ],
    [
      "Eleventy's files before its server for development",
      { "_site/index.html": "" },
      { scripts: { start: "npx @11ty/eleventy --serve", build: "npx @11ty/eleventy" } },
      { site: "_site" },
    ],
    ["Vite's files", { "dist/index.html": "", "index.html": "main.js", "main.js": "" }, built, { site: "dist" }],
    [
      "Angular's files",
      { "dist/shop/browser/index.html": "" },
      { ...built, name: "shop" },
      { site: "dist/shop/browser" },
    ],
    ["Nuxt's server", { ".output/server/index.mjs": "" }, built, { command: "node .output/server/index.mjs" }],
    [
      "Next.js without a start script",
      { ".next/BUILD_ID": "1" },
      { dependencies: { next: "15" } },
      { command: "next start" },
    ],
    [
      "a page whose script is for the browser",
      { "index.html": '<script src="app.js">', "app.js": "" },
      {},
      { site: "." },
    ],
    ["a server beside a page", { "index.html": "<p>", "app.js": "" }, {}, { command: "node app.js" }],
    ["TypeScript, which Node runs", { "index.ts": "" }, {}, { command: "node index.ts" }],
    ["a Staticfile", { Staticfile: "", "dist/index.html": "" }, { scripts: { start: "x" } }, { site: "dist" }],
    [
      "nodemon, which is for development",
      { "server.js": "" },
      { scripts: { start: "nodemon server.js" } },
      { command: "node server.js" },
    ],
    ["nothing", { "src/x.js": "" }, {}, undefined],
  ])("start: %s", async (_name, files, description, expected) => {
    await app.write(files);
    const start = findNodeStart(app.path, description);
    if (expected) expect(start).toMatchObject(expected);
    else expect(start).toBeUndefined();
  });

  test.each([
    ["one page and its assets", { "dist/assets/a.js": "" }, true],
    ["a page for what is missing", { "dist/404.html": "not here" }, false],
    ["its page again as 404.html and 200.html", { "dist/404.html": "", "dist/200.html": "" }, true],
    ["a page per folder", { "dist/about/index.html": "" }, false],
    ["a page per file", { "dist/about.html": "" }, false],
    ["pages two folders down", { "dist/blog/first/index.html": "" }, false],
    ["pages that are not served", { "dist/.git/a.html": "", "dist/node_modules/a/a.html": "" }, true],
    ["a page too far down", { "dist/1/2/3/4/5/6/7/8/9/a.html": "" }, true],
  ])("a site that routes in the browser: %s", async (_name, files, expected) => {
    await app.write({ "dist/index.html": "", ...files });
    expect(isSinglePage(app.path, "dist")).toBe(expected);
  });

  describe("a start command that needs a devDependency", () => {
    const scripts = { web: "tsx server.ts", prestart: "vite build", start: "node server.js", circle: "npm run circle" };
    const description = {
      scripts,
      dependencies: { next: "1" },
      devDependencies: { vite: "1", tsx: "1", "ts-node": "1" },
    };

    test.each<[string, boolean, string | undefined]>([
      ["tsx src/index.ts", true, "tsx"],
      ["echo a && tsx server.ts", true, "tsx"],
      ["NODE_ENV=production exec npx --yes tsx server.ts", true, "tsx"],
      ["cross-env A=b tsx server.ts", true, "tsx"],
      ["./node_modules/.bin/tsx server.ts", true, "tsx"],
      ["npm run --silent web", true, "tsx"],
      ["node --run web", true, "tsx"],
      ["pnpm exec tsx server.ts", true, "tsx"],
      ["yarn start", true, "vite"],
      ["node --import tsx server.ts", true, "tsx"],
      ["node -r ts-node/register server.ts", true, "ts-node"],
      ["node --loader=ts-node/esm server.ts", true, "ts-node"],
      ["unknown server.ts", true, undefined],
      ["npm run circle", false, undefined],
      ["cd web && node tsx.js; echo tsx", false, undefined],
      ["next start", false, undefined],
      ["./tsx", false, undefined],
    ])("%s: before the install perhaps, %s; after it %s", async (command, perhaps, needed) => {
      await app.write({
        "node_modules/tsx/package.json": '{"bin":"cli.js"}',
        "node_modules/vite/package.json": '{"bin":{"vite":"x"}}',
      });
      expect(mayNeedDev(description, ["node worker.js", command])).toBe(perhaps);
      expect(findNeededDevDependency([app.path], description, command)).toBe(needed);
    });

    test("is none without devDependencies", () => {
      expect(mayNeedDev({ dependencies: {} }, ["unknown"])).toBe(false);
      expect(findNeededDevDependency([app.path], {}, "tsx a.ts")).toBeUndefined();
    });
  });
});

describe("workspaces", () => {
  const foldersOf = (members: { folder: string }[]): string[] => members.map(({ folder }) => folder);

  test.each<[string, Files, object, string[]]>([
    ["npm's", {}, { workspaces: ["packages/*"] }, ["packages/a", "packages/b"]],
    ["Yarn's", {}, { workspaces: { packages: ["./packages/a", "apps/**"] } }, ["apps/x/y", "packages/a"]],
    [
      "pnpm's",
      {
        "pnpm-workspace.yaml":
          "packages:\n  # all\n  - 'packages/*'\n  - \"!packages/b\"\nonlyBuiltDependencies:\n  - apps/x/y\n",
      },
      {},
      ["packages/a"],
    ],
    ["none", {}, {}, []],
    ["one above the app", {}, { workspaces: ["../*"] }, []],
  ])("packages: %s", async (_name, files, description, folders) => {
    const members = ["packages/a", "packages/b", "apps/x/y", "packages/a/node_modules/z"];
    await app.write({ ...files, ...Object.fromEntries(members.map((folder) => [`${folder}/package.json`, "{}"])) });
    expect(foldersOf(listMembers(app.path, description))).toEqual(folders);
  });

  test.each<[string, Record<string, object>, string | undefined, string[]]>([
    ["the one with a start", { a: { scripts: { start: "x" } }, b: { scripts: { build: "x" } } }, undefined, ["a"]],
    [
      "the built one that no other needs",
      { a: { name: "@x/a", scripts: { build: "x" } }, b: { scripts: { build: "x" }, dependencies: { "@x/a": "*" } } },
      undefined,
      ["b"],
    ],
    ["several", { a: { scripts: { start: "x" } }, b: { scripts: { "start:prod": "x" } } }, undefined, ["a", "b"]],
    ["the chosen folder", { a: { scripts: { start: "x" } }, b: {} }, "./b/", ["b"]],
    ["the chosen name", { a: { name: "@x/a" }, b: {} }, "@x/a", ["a"]],
    ["none", { a: {}, b: { main: "index.js" } }, undefined, []],
  ])("candidates for the app: %s", (_name, packages, chosen, expected) => {
    const members = Object.entries(packages).map(([folder, description]) => ({ folder, description }));
    expect(foldersOf(findCandidates(app.path, members, chosen ?? ""))).toEqual(expected);
  });

  test("a choice that is none names the packages", () => {
    expect(() => findCandidates(app.path, [{ folder: "apps/web", description: {} }], "web")).toThrow(
      /Next: set it to .*: apps\/web$/,
    );
  });

  test("a package is built after those that it needs, also in a circle", () => {
    const member = (name: string, needs: string[], scripts: object = { build: "x" }) => ({
      folder: name,
      description: { name, scripts, dependencies: Object.fromEntries(needs.map((one) => [one, "*"])) },
    });
    const members = [
      member("web", ["ui", "ms"]),
      member("ui", ["text", "web"]),
      member("text", [], {}),
      member("other", []),
    ];
    expect(foldersOf(planBuilds(members, members[0]))).toEqual(["ui", "web"]);
  });

  test("a package alone that needs another of its workspace is refused with the next step", () => {
    const description = { dependencies: { "@x/shared": "workspace:*" } };
    expect(() => requireWorkspace(app.path, description, [])).toThrow(
      /^@x\/shared is another package .*Next: push the workspace whole/,
    );
    requireWorkspace(app.path, description, [{ folder: "a", description: {} }]);
  });

  test.each<[object, Files, boolean]>([
    [{ scripts: { start: "x" } }, {}, true],
    [{ main: "index.js" }, {}, false],
    [{ main: "index.js" }, { "index.js": "" }, true],
    [{}, { "server.js": "" }, true],
    [{ scripts: { build: "x", dev: "y" } }, {}, false],
  ])("the top is the app: %j with %j, %s", async (description, files, expected) => {
    await app.write(files);
    expect(startsItself(app.path, description)).toBe(expected);
  });
});

test.each<[object, Record<string, string>, object]>([
  [{ devDependencies: { "@sveltejs/adapter-auto": "7" } }, {}, { GCP_BUILDPACKS: "1" }],
  [{ devDependencies: { "@sveltejs/adapter-auto": "7" } }, { NETLIFY: "true" }, {}],
  [{ devDependencies: { "@sveltejs/adapter-auto": "7", "@sveltejs/adapter-node": "5" } }, {}, {}],
  [{ devDependencies: { "@sveltejs/adapter-static": "3" } }, {}, {}],
])("SvelteKit: %j, %j builds with %j", (description, env, expected) => {
  expect(adapterSettings(description, env)).toEqual(expected);
});
