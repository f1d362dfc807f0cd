// The virtual environment of an app: made by venv, filled by pip, uv or Poetry, and kept for the next build.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { digestOf, readIfThere, readJson } from "../shared/files.mjs";
import { openLayer, packageCache } from "../shared/layers.mjs";
import { Problem, say, warn } from "../shared/log.mjs";
import { findTool, runStep } from "../shared/tools.mjs";

/** Which tool installs the dependencies, and by which files; undefined when the app names none. */
export function chooseInstaller(app, project) {
  const has = (name) => existsSync(join(app, name));
  if (has("uv.lock")) return { tool: "uv", files: ["uv.lock", "pyproject.toml"] };
  if (has("poetry.lock")) return { tool: "poetry", files: ["poetry.lock", "pyproject.toml"] };
  if (has("requirements.txt")) return { tool: "pip", files: listRequirements(app, "requirements.txt") };
  if (has("Pipfile.lock")) return { tool: "pipenv", files: ["Pipfile.lock"] };
  if (project.tool?.poetry) return { tool: "poetry", files: ["pyproject.toml"] };
  if (project.project) return { tool: "uv", files: ["pyproject.toml"] };
  if (has("Pipfile"))
    throw new Problem("there is no Pipfile.lock beside the Pipfile. Next: run pipenv lock, and push again");
  if (has("setup.py")) return { tool: "setup.py", files: ["setup.py"] };
  return undefined;
}

/** A requirements file and those that it includes, each relative to the file that names it. */
function listRequirements(app, file, seen = []) {
  if (seen.includes(file) || !existsSync(join(app, file))) return seen;
  const included = [...readIfThere(join(app, file)).matchAll(/^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)/gm)];
  return included.reduce((files, [, name]) => listRequirements(app, join(dirname(file), name), files), [...seen, file]);
}

/** Makes the environment, or takes that of the last build. Returns its folder. */
export function provideEnvironment({ app, python, installer, project }) {
  const layer = openLayer("venv", { launch: true, build: true, cache: true });
  const files = installer?.files ?? [];
  const keepsPip = namesPip(app, files);
  const key = digestOf(app, { texts: [python.version, python.program, ...(keepsPip ? ["pip"] : [])], files });
  const isReused =
    !containsApp(app, installer, project) && layer.isFor(key) && existsSync(join(layer.path, "bin", "python"));
  if (isReused) {
    say("Reusing the dependencies of the last build");
    if (["pip", "pipenv", "setup.py"].includes(installer?.tool)) packageCache("pip-cache"); // for the next change of them
    relocate(layer.path, layer.saved.path);
  } else {
    layer.clear();
    runStep([python.program, "-m", "venv", layer.path], {
      shown: "python -m venv",
      next: "install the module venv of this Python (on Debian and Ubuntu the package python3-venv)",
    });
    if (installer) install({ app, venv: layer.path, python, installer });
    else say("No dependencies to install: there is no requirements.txt or pyproject.toml");
    if (!keepsPip && !isPipRequired(layer.path)) removePip(layer.path);
  }
  layer.setLaunchVariables({ "VIRTUAL_ENV.override": layer.path, "PYTHONUNBUFFERED.default": "1" });
  // The copy in the cache stays that of the build that made it, with its path.
  layer.keep(isReused ? { key, path: layer.saved.path, "cupola-unchanged": true } : { key, path: layer.path });
  return layer.path;
}

/** Whether the environment holds code of the app itself, which changes without its inputs. */
export function containsApp(app, installer, project) {
  if (!installer) return false;
  if (installer.tool === "setup.py") return true;
  if (installer.tool === "uv") return project["build-system"] !== undefined || hasLocal(project.tool?.uv?.sources);
  if (installer.tool === "poetry") return hasLocal(project.tool?.poetry?.dependencies);
  return (
    installer.tool === "pip" &&
    installer.files.some((file) => /^\s*(-e\b|\.|file:|[^#]*@ file:)/m.test(readIfThere(join(app, file))))
  );
}

/** Whether a dependency is a folder of the app, or a member of its workspace. */
function hasLocal(dependencies = {}) {
  return Object.values(dependencies)
    .flat()
    .some((one) => one?.path !== undefined || one?.workspace === true);
}

/** Whether the app names pip itself, as a dependency or to run it at its start: to install, it is needed in the build alone. */
export function namesPip(app, files) {
  if (files.some((file) => /(?:^\s*|["'])pip\b(?!-)/m.test(readIfThere(join(app, file))))) return true;
  const starts = readdirSync(app).filter((name) => name === "Procfile" || name === ".profile" || name.endsWith(".sh"));
  return starts.some((file) => /\bpip3?\b(?!-)|\bspacy\s+download\b/.test(readIfThere(join(app, file))));
}

/** Whether a package of the environment needs pip when it runs. */
export function isPipRequired(venv) {
  const folder = sitePackages(venv);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".dist-info"))
    .some((name) => /^Requires-Dist: pip\b(?!-)(?!.*\bextra\b)/m.test(readIfThere(join(folder, name, "METADATA"))));
}

/** It is half of the files of a small app, which each build would copy and pack. */
function removePip(venv) {
  say(
    "Leaving pip out of the droplet: an app that runs it names it in its requirements, its Procfile or a *.sh beside it",
  );
  const remove = (folder, pattern) => {
    for (const name of readdirSync(folder))
      if (pattern.test(name)) rmSync(join(folder, name), { recursive: true, force: true });
  };
  remove(sitePackages(venv), /^pip(-[^-]+\.dist-info)?$/);
  remove(join(venv, "bin"), /^pip[\d.]*$/);
}

/** Programs of an environment begin with its path, which differs from build to build. */
function relocate(venv, before) {
  if (!before || before === venv) return;
  const folder = join(venv, "bin");
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { name } of files) {
    const path = join(folder, name);
    const content = readFileSync(path);
    if (content.subarray(0, 2).toString() !== "#!" && !name.startsWith("activate")) continue;
    const text = content.toString("utf8");
    if (text.includes(before)) writeFileSync(path, text.replaceAll(before, venv));
  }
}

function install({ app, venv, python, installer }) {
  const { tool, files } = installer;
  const program = join(venv, "bin", "python");
  const run = (argv, options) => runStep(argv, { cwd: app, ...options });
  const pip = [program, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"];
  const pipEnv = { PIP_CACHE_DIR: packageCache("pip-cache") };
  const next = `correct ${files[0]}, or install the system's packages that the message names`;
  if (tool === "pip") return run([...pip, "-r", files[0]], { shown: `pip install -r ${files[0]}`, env: pipEnv, next });
  if (tool === "setup.py") return run([...pip, "."], { shown: "pip install .", env: pipEnv, next });
  if (tool === "pipenv") {
    const list = join(venv, "pipenv-requirements.txt");
    writeFileSync(list, fromPipfileLock(readJson(app, "Pipfile.lock")));
    return run([...pip, "-r", list], { shown: "pip install (what Pipfile.lock lists)", env: pipEnv, next });
  }
  if (tool === "uv") return runUv({ app, venv, python, locked: files.includes("uv.lock") });
  return runPoetry({ app, venv, python, pipEnv });
}

function runUv({ app, venv, python, locked }) {
  const env = {
    UV_PROJECT_ENVIRONMENT: venv,
    UV_PYTHON: python.program,
    UV_PYTHON_DOWNLOADS: "never",
    UV_CACHE_DIR: cacheFolder("uv-cache"),
    UV_LINK_MODE: "copy",
    UV_NO_PROGRESS: "1",
  };
  if (!locked) warn("there is no uv.lock, so versions may change from build to build; uv lock writes one");
  const args = ["sync", "--no-dev", "--no-editable", ...(locked ? ["--frozen"] : [])];
  const uv = findTool("uv");
  const command = uv ? [uv] : [provideTool("uv", python), "-m", "uv"];
  runStep([...command, ...args], {
    cwd: app,
    env,
    shown: `uv ${args.join(" ")}`,
    next: "run uv lock on your machine, and push with the uv.lock that it writes",
  });
}

function runPoetry({ app, venv, python, pipEnv }) {
  const env = {
    ...pipEnv,
    VIRTUAL_ENV: venv,
    PATH: `${join(venv, "bin")}:${process.env.PATH}`,
    POETRY_CACHE_DIR: packageCache("poetry-cache"),
    POETRY_NO_INTERACTION: "1",
  };
  const args = ["install", "--only", "main", "--no-root", "--no-ansi"];
  const poetry = findTool("poetry");
  const command = poetry ? [poetry] : [provideTool("poetry", python), "-m", "poetry"];
  runStep([...command, ...args], {
    cwd: app,
    env,
    shown: `poetry ${args.join(" ")}`,
    next: "run poetry lock on your machine, and push with the poetry.lock that it writes",
  });
}

/** A tool of PyPI in an environment of its own, which is no part of the droplet. Returns that environment's Python. */
function provideTool(name, python) {
  const layer = openLayer(name, { cache: true });
  const program = join(layer.path, "bin", "python");
  if (!layer.isFor(python.version) || !existsSync(program)) {
    layer.clear();
    runStep([python.program, "-m", "venv", layer.path], { shown: "python -m venv" });
    runStep([program, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", name], {
      shown: `pip install ${name}`,
      next: `see whether the registry PyPI can be reached, or install ${name} on this machine`,
    });
  }
  layer.keep({ key: python.version });
  return program;
}

/** The packages of a Pipfile.lock as pip's requirements, with their hashes. */
export function fromPipfileLock({ default: packages = {} }) {
  return Object.entries(packages)
    .map(([name, { version = "", extras = [], markers, hashes = [] }]) =>
      [
        `${name}${extras.length > 0 ? `[${extras.join(",")}]` : ""}${version}`,
        ...(markers ? [`; ${markers}`] : []),
        ...hashes.map((hash) => `--hash=${hash}`),
      ].join(" "),
    )
    .join("\n");
}

function cacheFolder(name) {
  const layer = openLayer(name, { cache: true });
  layer.keep();
  return layer.path;
}

/** The names of the installed packages, in lower case with dashes. */
export function listInstalled(venv) {
  return new Set(
    readdirSync(sitePackages(venv))
      .filter((name) => name.endsWith(".dist-info"))
      .map((name) =>
        name
          .replace(/-[^-]+\.dist-info$/, "")
          .toLowerCase()
          .replaceAll(/[_.]+/g, "-"),
      ),
  );
}

function sitePackages(venv) {
  const lib = join(venv, "lib");
  const [version] = existsSync(lib) ? readdirSync(lib).filter((name) => name.startsWith("python")) : [];
  return join(lib, version ?? "", "site-packages");
}
