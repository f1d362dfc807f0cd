// What the bundled buildpacks decide: package managers, versions, programs and start commands, by the files of an app.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { choosePrograms, toFolder, toProgramName } from "./buildpacks/go/programs.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { commandOfFolder, parseManifest } from "./buildpacks/java/jar.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { wantedJava } from "./buildpacks/java/jdk.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { takesBun, withBun } from "./buildpacks/nodejs/bun.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { wantedNode } from "./buildpacks/nodejs/node-version.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { choosePackageManager } from "./buildpacks/nodejs/package-manager.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findNeededDevDependency, findStart as findNodeStart, isSinglePage } from "./buildpacks/nodejs/start.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { chooseInstaller, containsApp, fromPipfileLock } from "./buildpacks/python/environment.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { isPipRequired, namesPip } from "./buildpacks/python/environment.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { toRange } from "./buildpacks/python/interpreter.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findStart as findPythonStart } from "./buildpacks/python/start.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { findStart as findRubyStart } from "./buildpacks/ruby/start.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { isAllowed } from "./buildpacks/staticfile/passwords.mjs";

type Files = Record<string, string>;
let app: string;
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "cupola-decisions-"));
  vi.spyOn(console, "log").mockImplementation(() => undefined);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(app, { recursive: true, force: true });
});

async function write(files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(app, path)), { recursive: true });
    await writeFile(join(app, path), content);
  }
}

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
    await write(files);
    expect(choosePackageManager(app, description)).toMatchObject(expected);
  });

  test("an unknown package manager is refused", () => {
    expect(() => choosePackageManager(app, { packageManager: "vlt@1.2.0" })).toThrow(
      /Next: use npm, pnpm, yarn or bun/,
    );
  });

  test.each<[Files, object, object | undefined]>([
    [{}, {}, undefined],
    [{ ".nvmrc": "v20\n" }, {}, { range: "20", source: ".nvmrc" }],
    [{ ".nvmrc": "v20\n" }, { engines: { node: "22.x" } }, { range: "22.x", source: "engines.node" }],
  ])("version: %j, %j", async (files, description, expected) => {
    await write(files);
    expect(wantedNode(app, description)).toEqual(expected);
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
    await write(files);
    expect(withBun(app, command)).toBe(expected);
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
    expect(takesBun(app, starts)).toBe(expected);
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
    await write(files);
    const start = findNodeStart(app, description);
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
    await write({ "dist/index.html": "", ...files });
    expect(isSinglePage(app, "dist")).toBe(expected);
  });

  test("a start command that needs a devDependency is noticed", async () => {
    await write({
      "node_modules/tsx/package.json": '{"bin":"cli.js"}',
      "node_modules/vite/package.json": '{"bin":{"vite":"x"}}',
    });
    const description = { devDependencies: { vite: "1", tsx: "1" } };
    expect(findNeededDevDependency(app, description, "echo a && tsx server.ts")).toBe("tsx");
    expect(findNeededDevDependency(app, description, "node tsx.js")).toBeUndefined();
  });
});

describe("Python", () => {
  test.each([
    ["3.12", ">=3.12.0 <3.13.0-0"],
    [">=3.10,<4", ">=3.10.0 <4.0.0-0"],
    ["~=3.11", ">=3.11.0 <4.0.0-0"],
    ["~=3.11.2", ">=3.11.2 <3.12.0-0"],
    ["==3.11.*", ">=3.11.0 <3.12.0-0"],
    ["^3.11", ">=3.11.0 <4.0.0-0"],
    [">=3.9,!=3.9.7", ">=3.9.0"],
    ["pypy", ""],
  ])("version %s", (text, range) => {
    expect(toRange(text)).toBe(range === "" ? "*" : range);
  });

  test.each<[string, Files, object, string | undefined]>([
    ["uv's lockfile", { "uv.lock": "", "requirements.txt": "" }, { project: {} }, "uv"],
    ["Poetry's lockfile", { "poetry.lock": "" }, { tool: { poetry: {} } }, "poetry"],
    ["requirements before a pyproject", { "requirements.txt": "" }, { project: {} }, "pip"],
    ["a pyproject alone", {}, { project: {} }, "uv"],
    ["Pipfile.lock", { "Pipfile.lock": "{}" }, {}, "pipenv"],
    ["nothing", {}, {}, undefined],
  ])("installer: %s", async (_name, files, project, tool) => {
    await write(files);
    expect(chooseInstaller(app, project)?.tool).toBe(tool);
  });

  test("a Pipfile without its lockfile is refused with the next step", async () => {
    await write({ Pipfile: "[packages]\n" });
    expect(() => chooseInstaller(app, {})).toThrow(/Next: run pipenv lock/);
    await write({ "requirements.txt": "" });
    expect(chooseInstaller(app, {})).toMatchObject({ tool: "pip" });
  });

  test("requirements that others include decide, too", async () => {
    await write({ "requirements.txt": "-r base.txt\nflask\n", "base.txt": "-c limits.txt\n", "limits.txt": "" });
    expect(chooseInstaller(app, {}).files).toEqual(["requirements.txt", "base.txt", "limits.txt"]);
  });

  test("an included file is named relative to the one that includes it", async () => {
    await write({ "requirements.txt": "-r requirements/web.txt\n", "requirements/web.txt": "-r base.txt\n" });
    await write({ "requirements/base.txt": "flask\n", "base.txt": "" });
    const { files } = chooseInstaller(app, {});
    expect(files).toEqual(["requirements.txt", "requirements/web.txt", "requirements/base.txt"]);
  });

  test.each<[string, object, boolean]>([
    ["uv", {}, false],
    ["uv", { tool: { uv: { sources: { lib: { workspace: true }, other: { git: "https://x" } } } } }, true],
    ["uv", { tool: { uv: { sources: { lib: [{ path: "lib", marker: "x" }] } } } }, true],
    ["poetry", { tool: { poetry: { dependencies: { python: "^3.12", flask: "^3" } } } }, false],
    ["poetry", { tool: { poetry: { dependencies: { lib: { path: "lib" } } } } }, true],
  ])("code of the app is installed anew: %s, %j", (tool, project, expected) => {
    expect(containsApp(app, { tool, files: [] }, project)).toBe(expected);
  });

  test.each<[string, string, boolean]>([
    ["requirements.txt", "flask\npip-tools-x\n", false],
    ["requirements.txt", "flask\npip>=24\n", true],
    ["pyproject.toml", 'dependencies = ["flask", "pip-api"]\n', false],
    ["pyproject.toml", 'dependencies = ["flask", "pip>=24"]\n', true],
    ["Procfile", "web: gunicorn app:app # pipes\n", false],
    ["Procfile", "web: python -m pip install x && python app.py\n", true],
    ["Procfile", "web: python -m spacy download en_core_web_sm && python app.py\n", true],
    ["start.sh", "pip3 list\n", true],
    ["readme.txt", "pip install -r requirements.txt\n", false],
  ])("an app names pip itself, or not: %s %j", async (file, text, expected) => {
    await write({ [file]: text });
    expect(namesPip(app, ["requirements.txt", "pyproject.toml"])).toBe(expected);
  });

  test.each<[string, string, boolean]>([
    ["no package does", "Requires-Dist: pip-api", false],
    ["the tests of setuptools do", "Requires-Dist: pip >=19.1 ; extra == 'testing'", false],
    ["a package does", "Name: pip-tools\nRequires-Dist: pip>=22.2\n", true],
  ])("a package of the environment requires pip, or not: %s", async (_why, metadata, expected) => {
    await write({ "venv/lib/python3.12/site-packages/one-1.0.dist-info/METADATA": metadata });
    expect(isPipRequired(join(app, "venv"))).toBe(expected);
  });

  test("a Pipfile.lock as pip's requirements", () => {
    const lock = {
      default: {
        flask: { version: "==3.1.0", extras: ["async"], markers: "python_version > '3.8'", hashes: ["sha256:a"] },
      },
    };
    expect(fromPipfileLock(lock)).toBe("flask[async]==3.1.0 ; python_version > '3.8' --hash=sha256:a");
  });

  const flask = "from flask import Flask\napp = Flask(__name__)\n";
  test.each<[string, Files, string[], RegExp]>([
    [
      "Flask with gunicorn",
      { "app.py": flask },
      ["flask", "gunicorn"],
      /^gunicorn app:app --bind \$\{HOST:-0.0.0.0\}:\$PORT$/,
    ],
    ["Flask alone", { "src/main.py": flask }, ["flask"], /^flask --app src.main:app run/],
    [
      "a factory of Flask",
      { "shop/__init__.py": "def create_app(x=1):\n" },
      ["flask", "gunicorn"],
      /^gunicorn 'shop:create_app\(\)'/,
    ],
    [
      "FastAPI",
      { "app/main.py": "api: FastAPI = FastAPI()\n" },
      ["fastapi", "uvicorn"],
      /^uvicorn app.main:api --host/,
    ],
    [
      "Django with gunicorn",
      { "manage.py": 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")', "shop/wsgi.py": "" },
      ["django", "gunicorn"],
      /^gunicorn shop.wsgi/,
    ],
    ["Django alone", { "manage.py": "" }, ["django"], /^python manage.py runserver --noreload/],
    ["Streamlit", { "app.py": "" }, ["streamlit"], /^streamlit run app.py --server.address/],
    ["a program", { "main.py": "" }, [], /^python main.py$/],
  ])("start: %s", async (_name, files, installed, command) => {
    await write(files);
    expect(findPythonStart(app, new Set(installed))?.command).toMatch(command);
  });

  test("FastAPI without a server names the next step", async () => {
    await write({ "main.py": "app = FastAPI()\n" });
    expect(() => findPythonStart(app, new Set(["fastapi"]))).toThrow(/Next: add uvicorn/);
  });
});

test.each<[string[], string, object]>([
  [["."], "example.com/shop", { web: "." }],
  [[".", "cmd/tool"], "example.com/shop", { web: "." }],
  [["cmd/worker", "cmd/web"], "example.com/shop", { web: "cmd/web", worker: "cmd/worker" }],
  [["cmd/shop", "cmd/Shop_Admin"], "example.com/shop/v2", { web: "cmd/shop", "shop-admin": "cmd/Shop_Admin" }],
  [["tools/gen", "service/api"], "example.com/shop", { web: "service/api" }],
  [["only/one"], "example.com/shop", { web: "only/one" }],
  [["tools/a", "tools/b"], "example.com/shop", {}],
])("Go programs among %j of %s", (mains, module, expected) => {
  expect(choosePrograms(mains, module)).toEqual(expected);
});

test.each([
  ["./cmd/web/", "cmd/web"],
  ["example.com/shop/cmd/web", "cmd/web"],
  ["example.com/shop", "."],
  ["example.com/shopping/cmd", "example.com/shopping/cmd"],
  [".", "."],
])("Go: GO_INSTALL_PACKAGE_SPEC %s is the folder %s", (named, folder) => {
  expect(toFolder(named, "example.com/shop")).toBe(folder);
});

test.each([
  [".", "example.com/shop/v2", "shop"],
  [".", undefined, "app"],
  ["cmd/Worker", "example.com/shop", "Worker"],
])("Go: the program of %s in %s is called %s, as a Procfile names it", (folder, module, name) => {
  expect(toProgramName(folder, module)).toBe(name);
});

describe("Java", () => {
  test("an unpacked jar starts by its manifest, whose lines are wrapped", async () => {
    const manifest =
      "Manifest-Version: 1.0\r\nMain-Class: com.example.a.very.long.pack\r\n age.Main\r\nClass-Path: lib/a.jar lib/b.jar\r\n\r\nName: x\r\nMain-Class: no\r\n";
    expect(parseManifest(manifest)).toMatchObject({ "Main-Class": "com.example.a.very.long.package.Main" });
    await write({ "META-INF/MANIFEST.MF": manifest });
    expect(commandOfFolder(app)).toBe("exec java -cp .:lib/a.jar:lib/b.jar com.example.a.very.long.package.Main");
  });

  test.each<[Files, object | undefined]>([
    [{ "pom.xml": "<java.version>21</java.version>" }, { source: "pom.xml", major: 21 }],
    [
      {
        "pom.xml":
          "<maven.compiler.source>1.8</maven.compiler.source><maven.compiler.target>1.8</maven.compiler.target>",
      },
      { source: "pom.xml", major: 8 },
    ],
    [
      { "system.properties": "java.runtime.version=17\n", "pom.xml": "<java.version>11</java.version>" },
      { source: "system.properties", major: 17 },
    ],
    [{ "build.gradle.kts": "languageVersion = JavaLanguageVersion.of(25)" }, { source: "build.gradle.kts", major: 25 }],
    [{}, undefined],
  ])("version by %j", async (files, expected) => {
    await write(files);
    expect(wantedJava(app)).toEqual(expected);
  });
});

test.each<[string, Files, RegExp]>([
  ["Rails", { Gemfile: "", "config.ru": "", "config/application.rb": "" }, /^bundle exec rails server/],
  [
    "Rack with puma",
    { Gemfile: "", "Gemfile.lock": "    puma (6.4.0)\n", "config.ru": "" },
    /^bundle exec puma -b tcp/,
  ],
  ["Rack", { Gemfile: "", "config.ru": "" }, /^bundle exec rackup/],
  ["a program", { "app.rb": "" }, /^ruby app.rb$/],
])("Ruby starts %s", async (_name, files, command) => {
  await write(files);
  expect(findRubyStart(app).command).toMatch(command);
});

test("passwords of a Staticfile.auth are checked by htpasswd's hashes", () => {
  const basic = (user: string, password: string): string =>
    `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const users = {
    ann: "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
    bob: "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/",
    cy: "{PLAIN}secret",
  };
  for (const user of Object.keys(users)) {
    expect(isAllowed(users, basic(user, "secret")), user).toBe(true);
    expect(isAllowed(users, basic(user, "other")), user).toBe(false);
  }
  expect(isAllowed(users, basic("constructor", "secret"))).toBe(false);
  expect(isAllowed(users, undefined)).toBe(false);
});
