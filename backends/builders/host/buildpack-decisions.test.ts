// Decisions of the bundled buildpacks: package managers, versions, programs and start commands, by the files of an app.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useAppFolder, type Files } from "./testing/fixtures.ts";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { choosePrograms, toFolder, toProgramName } from "./buildpacks/go/programs.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { commandOfFolder, parseManifest } from "./buildpacks/java/jar.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { wantedJava } from "./buildpacks/java/jdk.mjs";
// @ts-expect-error plain JavaScript, as buildpacks run it
import { explainFailure, hasStaticRoot } from "./buildpacks/python/django.mjs";
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

const app = useAppFolder();

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
    await app.write(files);
    expect(chooseInstaller(app.path, project)?.tool).toBe(tool);
  });

  test("a Pipfile without its lockfile is refused with the next step", async () => {
    await app.write({ Pipfile: "[packages]\n" });
    expect(() => chooseInstaller(app.path, {})).toThrow(/Next: run pipenv lock/);
    await app.write({ "requirements.txt": "" });
    expect(chooseInstaller(app.path, {})).toMatchObject({ tool: "pip" });
  });

  test("requirements that others include decide, too", async () => {
    await app.write({ "requirements.txt": "-r base.txt\nflask\n", "base.txt": "-c limits.txt\n", "limits.txt": "" });
    expect(chooseInstaller(app.path, {}).files).toEqual(["requirements.txt", "base.txt", "limits.txt"]);
  });

  test("an included file is named relative to the one that includes it", async () => {
    await app.write({ "requirements.txt": "-r requirements/web.txt\n", "requirements/web.txt": "-r base.txt\n" });
    await app.write({ "requirements/base.txt": "flask\n", "base.txt": "" });
    const { files } = chooseInstaller(app.path, {});
    expect(files).toEqual(["requirements.txt", "requirements/web.txt", "requirements/base.txt"]);
  });

  test.each<[string, object, boolean]>([
    ["uv", {}, false],
    ["uv", { tool: { uv: { sources: { lib: { workspace: true }, other: { git: "https://x" } } } } }, true],
    ["uv", { tool: { uv: { sources: { lib: [{ path: "lib", marker: "x" }] } } } }, true],
    ["poetry", { tool: { poetry: { dependencies: { python: "^3.12", flask: "^3" } } } }, false],
    ["poetry", { tool: { poetry: { dependencies: { lib: { path: "lib" } } } } }, true],
  ])("code of the app is installed anew: %s, %j", (tool, project, expected) => {
    expect(containsApp(app.path, { tool, files: [] }, project)).toBe(expected);
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
    await app.write({ [file]: text });
    expect(namesPip(app.path, ["requirements.txt", "pyproject.toml"])).toBe(expected);
  });

  test.each<[string, string, boolean]>([
    ["no package does", "Requires-Dist: pip-api", false],
    ["the tests of setuptools do", "Requires-Dist: pip >=19.1 ; extra == 'testing'", false],
    ["a package does", "Name: pip-tools\nRequires-Dist: pip>=22.2\n", true],
  ])("a package of the environment requires pip, or not: %s", async (_why, metadata, expected) => {
    await app.write({ "venv/lib/python3.12/site-packages/one-1.0.dist-info/METADATA": metadata });
    expect(isPipRequired(join(app.path, "venv"))).toBe(expected);
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
    [
      "Flask alone, in a folder src",
      { "src/main.py": flask },
      ["flask"],
      /^PYTHONPATH=src\$\{PYTHONPATH:\+:\$PYTHONPATH\} flask --app main:app run/,
    ],
    [
      "Flask in a src that is a package",
      { "src/main.py": flask, "src/__init__.py": "" },
      ["flask"],
      /^flask --app src.main:app/,
    ],
    [
      "a package of Flask in src",
      { "src/shop/__init__.py": "def create_app():\n" },
      ["flask", "gunicorn"],
      /^PYTHONPATH=src\S* gunicorn 'shop:create_app\(\)'/,
    ],
    [
      "Flask under a name of a tutorial",
      { "hello.py": flask, "conftest.py": flask },
      ["flask"],
      /^flask --app hello:app run/,
    ],
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
    [
      "Django in the folder that startproject makes",
      { "shop/manage.py": 'setdefault("DJANGO_SETTINGS_MODULE", "shop.settings") # django', "shop/shop/wsgi.py": "" },
      ["django", "gunicorn"],
      /^cd shop && gunicorn shop.wsgi --bind/,
    ],
    [
      "Django alone",
      { "manage.py": "from django.core.management import x" },
      ["django"],
      /^python manage.py runserver --noreload/,
    ],
    ["Streamlit", { "app.py": "" }, ["streamlit"], /^streamlit run app.py --server.address/],
    [
      "Streamlit under another name",
      { "a.py": "", "dash.py": "import streamlit as st" },
      ["streamlit"],
      /^streamlit run dash.py /,
    ],
    ["a program", { "main.py": "" }, [], /^python main.py$/],
    ["a program in src", { "src/app.py": "" }, [], /^python src\/app.py$/],
  ])("start: %s", async (_name, files, installed, command) => {
    await app.write(files);
    expect(findPythonStart(app.path, new Set(installed))?.command).toMatch(command);
  });

  test("Django that nothing installs names the next step", async () => {
    await app.write({ "manage.py": "from django.core.management import x" });
    expect(() => findPythonStart(app.path, new Set())).toThrow(/Next: name django and gunicorn in a requirements.txt/);
  });

  test.each<[Files, string, boolean]>([
    [{ "shop/settings.py": "STATIC_ROOT = 'x'" }, "shop.settings", true],
    [{ "shop/settings.py": "STATIC_URL = 'x'" }, "shop.settings", false],
    [{ "config/settings/base.py": "STATIC_ROOT = 'x'", "config/settings/local.py": "" }, "config.settings.local", true],
    [{ "config/settings/__init__.py": "", "config/settings/base.py": "STATIC_ROOT = 'x'" }, "config.settings", true],
    [{}, "shop.settings", false],
  ])("Django's static files: %j, %s, %s", async (files, settings, expected) => {
    await app.write(files);
    expect(hasStaticRoot(app.path, { folder: ".", settings })).toBe(expected);
  });

  test.each<[string, string, string | undefined]>([
    ["Traceback\n  File x\nKeyError: 'SECRET_KEY'\n", "KeyError: 'SECRET_KEY'", "SECRET_KEY"],
    [
      "django.core.exceptions.ImproperlyConfigured: Set the DATABASE_URL environment variable\n",
      "django.core.exceptions.ImproperlyConfigured: Set the DATABASE_URL environment variable",
      "DATABASE_URL",
    ],
    [
      "decouple.UndefinedValueError: KEY not found. Declare it as envvar or define a default value.\n",
      "decouple.UndefinedValueError: KEY not found. Declare it as envvar or define a default value",
      "KEY",
    ],
    ["Traceback\nSyntaxError: invalid\n\n", "SyntaxError: invalid", undefined],
  ])("Django's failure %j is told by its line", (errors, reason, variable) => {
    const { next, ...told } = explainFailure(errors);
    expect(told).toEqual({ reason });
    if (variable) expect(next).toContain(`cf set-env APP ${variable} VALUE`);
    else expect(next).toBeUndefined();
  });

  test("FastAPI without a server names the next step", async () => {
    await app.write({ "main.py": "app = FastAPI()\n" });
    expect(() => findPythonStart(app.path, new Set(["fastapi"]))).toThrow(/Next: add uvicorn/);
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
    await app.write({ "META-INF/MANIFEST.MF": manifest });
    expect(commandOfFolder(app.path)).toBe("exec java -cp .:lib/a.jar:lib/b.jar com.example.a.very.long.package.Main");
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
    await app.write(files);
    expect(wantedJava(app.path)).toEqual(expected);
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
  await app.write(files);
  expect(findRubyStart(app.path).command).toMatch(command);
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
