// The bundled buildpacks, with real builds and launches: detection, start commands, caches and error messages.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hostEnvironment } from "../../host/host-environment.ts";
import { prepareLaunch } from "../../host/prepare-launch.ts";
import { type DropletMetadata, toProcessTypes } from "../../host/droplet-metadata.ts";
import { bundledBuildpacks, bundledFolder } from "./bundled-buildpacks.ts";
import { thisMachine } from "./lifecycle/buildpack.ts";
import { runLifecycle } from "./lifecycle/lifecycle.ts";

const run = promisify(execFile);
let directory: string;
let lines: string[];
let builds = 0;
let root: string;
let started: ChildProcess[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "cupola-buildpacks-"));
  lines = [];
  started = [];
});
afterEach(async () => {
  for (const child of started) child.kill("SIGKILL");
  await rm(directory, { recursive: true, force: true });
});

type Files = Record<string, string>;

async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Builds an app of these files as the builder does: with all bundled buildpacks, in their order, and procfile as the companion. */
async function build(
  files: Files,
  user: Record<string, string> = {},
  order: readonly (typeof bundledBuildpacks)[number][] = bundledBuildpacks,
  isNamedByUser = false,
): Promise<DropletMetadata> {
  builds += 1;
  root = join(directory, "droplets", `b${builds}`);
  const work = join(directory, "work", `b${builds}`);
  await mkdir(join(root, "app"), { recursive: true });
  await writeFiles(join(root, "app"), files);
  const folders = order.map(bundledFolder);
  return runLifecycle({
    workspace: {
      root,
      work,
      platform: join(work, "platform"),
      machine: await thisMachine(),
      stack: "host",
      base: hostEnvironment(),
      user,
    },
    buildpacks: folders,
    detect: !isNamedByUser,
    available: bundledBuildpacks.map(bundledFolder),
    companionBuildpack: bundledFolder("procfile"),
    cache: join(directory, "cache"),
    log: (_stream, line) => void lines.push(line),
  });
}

interface Answer {
  status: number | undefined;
  type: string | undefined;
  location: string | undefined;
  body: string;
}

/** Starts the web process and returns a function that requests a path from it, without normalizing the path. */
async function serve(): Promise<(path: string, headers?: Record<string, string>) => Promise<Answer>> {
  const { command, env, cwd } = await prepareLaunch({
    root,
    processType: "web",
    env: { ...hostEnvironment(), PORT: "0" },
  });
  const [file = "", ...args] = command;
  const child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  const port = await new Promise<string>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      const found = /port (\d+)/.exec(chunk.toString());
      if (found?.[1]) resolve(found[1]);
    });
  });
  return (path, headers = {}) =>
    new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path, headers }, (response) => {
        text(response).then(
          (body) =>
            resolve({
              status: response.statusCode,
              type: response.headers["content-type"],
              location: response.headers.location,
              body,
            }),
          reject,
        );
      })
        .on("error", reject)
        .end();
    });
}

const used = (metadata: DropletMetadata): string[] => metadata.buildpacks.map(({ id }) => id.replace("cupola/", ""));

describe("detection and start commands", () => {
  test.each<[string, Files, string[], Record<string, string>]>([
    ["a start script", { "package.json": '{"scripts":{"start":"node a.js"}}' }, ["nodejs"], { web: "node a.js" }],
    [
      "with prestart and poststart",
      { "package.json": '{"scripts":{"prestart":"echo a","start":"b","poststart":"c"}}' },
      ["nodejs"],
      { web: "echo a && b && c" },
    ],
    [
      "server.js",
      { "package.json": '{"main":"lib/main.js"}', "server.js": "", "lib/main.js": "" },
      ["nodejs"],
      { web: "node server.js" },
    ],
    [
      "main",
      { "package.json": '{"main":"lib/my main.js"}', "index.js": "", "lib/my main.js": "" },
      ["nodejs"],
      { web: "node 'lib/my main.js'" },
    ],
    ["index.js", { "package.json": "{}", "index.js": "" }, ["nodejs"], { web: "node index.js" }],
    ["nothing to start", { "package.json": "{}" }, ["nodejs"], {}],
    ["server.js alone", { "server.js": "" }, ["nodejs"], { web: "node server.js" }],
    [
      "a Procfile wins",
      { "package.json": '{"scripts":{"start":"node a.js"}}', Procfile: "web: node b.js\nclock: node c.js" },
      ["nodejs", "procfile"],
      { web: "node b.js", clock: "node c.js" },
    ],
    [
      "a Procfile without web adds to it",
      { "package.json": '{"scripts":{"start":"node a.js"}}', Procfile: "clock: node c.js" },
      ["nodejs", "procfile"],
      { web: "node a.js", clock: "node c.js" },
    ],
    [
      "package.json with a page is Node.js",
      { "package.json": '{"scripts":{"start":"x"}}', "index.html": "" },
      ["nodejs"],
      { web: "x" },
    ],
    [
      "a Procfile alone",
      { Procfile: "# comment\r\nweb: ./run --port $PORT\r\n\r\nworker : ./work" },
      ["procfile"],
      { web: "./run --port $PORT", worker: "./work" },
    ],
    [
      "a jar beside another language's files is no Java app",
      { "server.js": "", "driver.jar": "" },
      ["nodejs"],
      { web: "node server.js" },
    ],
    ["a Procfile without web", { Procfile: "job: ./once" }, ["procfile"], { job: "./once", web: "./once" }],
  ])("%s", async (_name, files, buildpacks, types) => {
    const metadata = await build(files);
    expect(used(metadata)).toEqual(buildpacks);
    expect(toProcessTypes(metadata)).toEqual(types);
  });

  test.each<[string, Files, RegExp]>([
    [
      "nothing fits",
      { "readme.txt": "" },
      /none of the buildpacks fits the app: it has readme.txt. Next: push another folder .*nodejs@0.1.0: no package.json; .*staticfile@0.1.0: no Staticfile, index.html.*procfile@0.1.0: no Procfile/,
    ],
    [
      "broken package.json",
      { "package.json": "{" },
      /cupola\/nodejs 0.1.0 ended with 1, saying: package.json is not valid JSON: /,
    ],
    [
      "broken Procfile",
      { Procfile: "web: a\nwhat is this" },
      /cupola\/procfile 0.1.0 ended with 1, saying: Procfile, line 2: write it as "type: command"/,
    ],
    ["empty Procfile", { Procfile: "\n" }, /the Procfile names no process/],
    [
      "a root that is no folder of the app",
      { Staticfile: "root: ../.." },
      /cupola\/staticfile 0.1.0 ended with 1, saying: root: ..\/.. in the Staticfile/,
    ],
    [
      "npm says no",
      { "package.json": '{"dependencies":{"a":"file:./a"},"scripts":{"preinstall":"echo not today >&2; exit 3"}}' },
      /npm install --omit=dev failed with status 3. Next: run npm install on your machine/,
    ],
  ])("a failure says why: %s", async (_name, files, message) => {
    await expect(build(files)).rejects.toThrow(message);
  });
});

describe("dependencies", () => {
  const app: Files = {
    "package.json":
      '{"name":"app","version":"1.0.0","dependencies":{"lib":"file:./lib.tgz"},"devDependencies":{"dev":"file:./lib.tgz"}}',
    "server.js":
      'const lib = require("lib"); require("http").createServer((q, r) => r.end(lib + process.env.NODE_ENV)).listen(0, function () { console.log("port " + this.address().port); });',
  };

  /** A package with one file, packed by npm. */
  async function packLib(content: string): Promise<string> {
    const folder = await mkdtemp(join(directory, "lib-"));
    await writeFiles(folder, {
      "package.json": '{"name":"lib","version":"1.0.0","bin":"cli.js","main":"index.js"}',
      "index.js": content,
      "cli.js": "#!/usr/bin/env node\n",
    });
    await run("npm", ["pack", "--silent"], { cwd: folder });
    await rename(join(folder, "lib-1.0.0.tgz"), join(folder, "lib.tgz"));
    return join(folder, "lib.tgz");
  }

  test("are installed without devDependencies, cached for the next build, and installed again when they change", async () => {
    const tarball = await packLib('module.exports = "one ";');
    const files = {
      ...app,
      "package.json": (app["package.json"] ?? "").replaceAll("./lib.tgz", tarball),
      ".npmrc": "package-lock=false\n",
    };
    await build(files);
    expect(lines.join("\n")).toMatch(/warning: there is no lockfile.*\n +\$ npm install --omit=dev/);
    expect((await (await serve())("/")).body).toBe("one production");
    expect(await readdir(join(root, "app", "node_modules"))).toEqual(expect.not.arrayContaining(["dev"]));
    expect(await readdir(join(root, "layers", "cupola_nodejs"))).toEqual(["environment"]);

    lines = [];
    await build(files);
    expect(lines.map((line) => line.trim())).toContain("Reusing the dependencies of the last build");
    expect((await (await serve())("/")).body).toBe("one production");

    lines = [];
    await build({ ...files, "package.json": files["package.json"].replace('"1.0.0"', '"1.0.1"') });
    expect(lines.join("\n")).toContain("npm install --omit=dev");
  });

  test("share their files with the cache, and are installed again when a build changed one in place", async () => {
    const change = "require('fs').appendFileSync('node_modules/lib/index.js', ' // built')";
    const tarball = await packLib('module.exports = "one ";');
    const description = JSON.parse((app["package.json"] ?? "").replaceAll("./lib.tgz", tarball)) as object;
    const files = { ...app, "package.json": JSON.stringify(description), ".npmrc": "package-lock=false\n" };
    const library = (): string => join(root, "app", "node_modules", "lib", "index.js");
    const again = "The last build changed its dependencies in place: they are installed again, and copied from now on";
    const reused = "Reusing the dependencies of the last build";
    const saidInBuild = async (built: Files): Promise<string[]> => {
      lines = [];
      await build(built);
      return lines.map((line) => line.trim()).filter((line) => line === again || line === reused);
    };
    expect(await saidInBuild(files)).toEqual([]);
    expect((await stat(library())).nlink).toBe(2);
    expect(await saidInBuild(files)).toEqual([reused]);
    // The droplet before has it, too.
    expect((await stat(library())).nlink).toBe(3);

    const changing = {
      ...files,
      "package.json": JSON.stringify({ ...description, scripts: { build: `node -e "${change}"` } }),
    };
    for (const said of [[], [again], [reused]]) {
      expect(await saidInBuild(changing)).toEqual(said);
      expect(await readFile(library(), "utf8")).toBe('module.exports = "one "; // built');
    }
    expect((await stat(library())).nlink).toBe(1);
  });

  test("of development stay where the start command needs one of them, without a build script, too", async () => {
    const tarball = await packLib("module.exports = 1;");
    await build({
      "package.json": `{"name":"app","scripts":{"start":"lib server.ts"},"devDependencies":{"lib":"file:${tarball}"}}`,
      ".npmrc": "package-lock=false\n",
    });
    expect(lines.join("\n")).toMatch(
      /npm install --include=dev[^]*the start command needs lib, so devDependencies are kept/,
    );
    expect(await readdir(join(root, "app", "node_modules"))).toContain("lib");
  });

  test("a package-lock.json is obeyed, and a folder of the app may be a dependency", async () => {
    const files: Files = {
      "package.json": '{"name":"app","version":"1.0.0","dependencies":{"lib":"file:./lib"}}',
      "package-lock.json":
        '{"name":"app","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"app","version":"1.0.0","dependencies":{"lib":"file:./lib"}},"lib":{"version":"1.0.0"},"node_modules/lib":{"resolved":"lib","link":true}}}',
      "lib/package.json": '{"name":"lib","version":"1.0.0","main":"i.js"}',
      "lib/i.js": 'module.exports = "linked ";',
      "server.js": app["server.js"] ?? "",
    };
    for (const content of ["first ", "second "]) {
      lines = [];
      await build({ ...files, "lib/i.js": `module.exports = "${content}";` }, { NODE_ENV: "test" });
      expect(lines.join("\n")).toContain("npm ci --include=dev");
      expect((await (await serve())("/")).body).toBe(`${content}production`);
    }
  });

  test("that come with the app are used unchanged", async () => {
    await build({ ...app, "node_modules/lib/index.js": 'module.exports = "vendored ";' });
    expect(lines.join("\n")).toContain("Using the node_modules that came with the app");
    expect((await (await serve())("/")).body).toBe("vendored production");
  });

  test("engines.node that is no version range causes a warning", async () => {
    await build({ "package.json": '{"engines":{"node":"the newest"},"scripts":{"start":"x"}}' });
    expect(lines.join("\n")).toContain('warning: engines.node, "the newest", is no version range');
  });

  test("a build script runs with devDependencies, which are then removed; a site that it leaves is served", async () => {
    const tarball = await packLib("module.exports = 1;");
    const files = {
      "package.json": `{"name":"site","scripts":{"build":"node make.js"},"devDependencies":{"lib":"file:${tarball}"}}`,
      "make.js":
        'require("lib"); const fs = require("fs"); fs.mkdirSync("dist"); fs.writeFileSync("dist/index.html", "built");',
      ".npmrc": "package-lock=false\n",
    };
    await build(files);
    expect(lines.join("\n")).toMatch(
      /npm install --include=dev[^]*npm run build[^]*npm prune --omit=dev[^]*serves dist/,
    );
    expect(await readdir(join(root, "app", "node_modules"))).not.toContain("lib");
    expect(await (await serve())("/some/page")).toMatchObject({ status: 200, body: "built" });
  });
});

test("a workspace whose one package starts is that package, after a build of those that it needs", async () => {
  await build({
    "package.json": '{"name":"all","private":true,"workspaces":["packages/*"]}',
    "packages/text/package.json":
      '{"name":"@all/text","version":"1.0.0","main":"built.js","scripts":{"build":"cp source.js built.js"}}',
    "packages/text/source.js": 'module.exports = "from the workspace";',
    "packages/web/package.json":
      '{"name":"@all/web","version":"1.0.0","dependencies":{"@all/text":"1.0.0"},"scripts":{"start":"node server.js"}}',
    "packages/web/server.js":
      'require("http").createServer((q, r) => r.end(require("@all/text"))).listen(0, function () { console.log("port " + this.address().port); });',
  });
  expect(lines.join("\n")).toMatch(/workspace, package packages\/web[^]*npm run build \(in packages\/text\)/);
  expect((await (await serve())("/")).body).toBe("from the workspace");
});

test("the log says when a release of a Procfile runs", async () => {
  await build({ Procfile: "release: ./migrate\nweb: ./serve\n" });
  expect(lines.join("\n")).toMatch(/release runs as a task before this version starts.*web: \.\/migrate && \.\/serve/);
});

test("several that fit: the first in the order builds, and the others are named", async () => {
  expect(
    used(await build({ "server.js": "", "requirements.txt": "", Procfile: "web: x" }, {}, ["nodejs", "python"])),
  ).toEqual(["nodejs", "procfile"]);
  expect(lines).toContain("Building with Node.js 0.1.0 (server.js), Procfile 0.1.0 (Procfile)");
  expect(lines).toContain(
    "Python (requirements.txt) would fit, too; Node.js comes first in the order of buildpacks. Choose with -b",
  );
});

test.each<[string, Files, string[], Record<string, string>]>([
  ["without a Procfile: the start command comes from the app", {}, ["binary"], {}],
  ["with one", { Procfile: "web: ./program" }, ["binary", "procfile"], { web: "./program" }],
])("binary takes the files as they are, %s", async (_what, files, buildpacks, types) => {
  const metadata = await build({ program: "#!/bin/sh\n", ...files }, {}, ["binary"], true);
  expect(used(metadata)).toEqual(buildpacks);
  expect(toProcessTypes(metadata)).toEqual(types);
});

const hasPHP = process.env["PATH"]?.split(":").some((folder) => existsSync(join(folder, "php")));
test.skipIf(hasPHP)("a missing toolchain is named with how to get it", async () => {
  await expect(build({ "index.php": "" }, {}, ["php"])).rejects.toThrow(
    /PHP is not installed on this machine: there is no php on the PATH. Next: install it/,
  );
});

describe("static files", () => {
  test("pages, content types, folders and 404 are served, hidden files are not", async () => {
    await build({
      "index.html": "home",
      "a b.css": "b{}",
      "sub/index.html": "sub",
      "404.html": "gone",
      Staticfile: "",
      ".secret": "s",
      "manifest.yml": "m",
    });
    await writeFile(join(directory, "outside.txt"), "outside");
    await symlink(join(directory, "outside.txt"), join(root, "app", "link.txt"));
    const get = await serve();
    expect(await get("/")).toMatchObject({ status: 200, type: "text/html; charset=utf-8", body: "home" });
    expect(await get("/a%20b.css")).toMatchObject({ status: 200, type: "text/css; charset=utf-8", body: "b{}" });
    expect(await get("/sub?x=1")).toMatchObject({ status: 301, location: "/sub/?x=1" });
    expect(await get("/sub/")).toMatchObject({ status: 200, body: "sub" });
    expect(await get("//")).toMatchObject({ status: 200, body: "home" });
    expect(await get("//sub?x=1")).toMatchObject({ status: 301, location: "/sub/?x=1" });
    expect(await get("http://elsewhere/sub/")).toMatchObject({ status: 200, body: "sub" });
    for (const path of [
      "/none",
      "/../outside.txt",
      "/..%2f..%2foutside.txt",
      "/%2e%2e/%2e%2e/etc/passwd",
      "//etc/passwd",
      "/link.txt",
      "/.secret",
      "/Staticfile",
      "/manifest.yml",
      "/%00",
      "/%zz",
    ]) {
      expect(await get(path), path).toMatchObject({ status: 404, body: "gone" });
    }
  });

  test("root, pushstate and directory of a Staticfile", async () => {
    await build({ Staticfile: "root: dist\npushstate: enabled\n", "dist/index.html": "spa", "secret.txt": "s" });
    const get = await serve();
    expect(await get("/any/where")).toMatchObject({ status: 200, body: "spa" });
    expect((await get("/secret.txt")).body).toBe("spa");
    await build({
      "index.html": "home",
      "Staticfile.auth": "ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n",
      Staticfile: "status_codes:\n  404: /lost.html\n",
      "lost.html": "lost",
    });
    const closed = await serve();
    const authorization = `Basic ${Buffer.from("ann:secret").toString("base64")}`;
    expect(await closed("/")).toMatchObject({ status: 401 });
    expect(await closed("/", { authorization })).toMatchObject({ status: 200, body: "home" });
    expect(await closed("/none", { authorization })).toMatchObject({ status: 404, body: "lost" });
    await build({ Staticfile: "directory: visible\n", "x/a.txt": "a", "x/.b": "b" });
    const list = await (await serve())("/x/");
    expect(list.body).toContain('href="a.txt"');
    expect(list.body).not.toContain(".b");
  });
});

vi.setConfig({ testTimeout: 60_000 });
