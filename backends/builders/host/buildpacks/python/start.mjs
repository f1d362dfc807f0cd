// How a Python app starts, by what is installed: Django, FastAPI, Flask and their like with the server that the app brings.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { quote, readIfThere } from "../shared/files.mjs";
import { Problem } from "../shared/log.mjs";
import { findDjango } from "./django.mjs";

/** On a laptop HOST is the loopback address; in a container it is not set. */
const host = "${HOST:-0.0.0.0}";
const address = `${host}:$PORT`;
const usualFiles = ["main.py", "app.py", "wsgi.py", "asgi.py", "server.py", "api.py", "application.py", "run.py"];
/** So many are read. */
const MOST_PROGRAMS = 50;
const usualFolders = ["", "app/", "src/", "api/", "backend/", "server/"];

/** `{ command, why, warning }`; undefined when nothing tells how the app starts. `installed` has the names of packages. Throws when a server is missing. */
export function findStart(app, installed) {
  const has = (name) => installed.has(name);
  const django = findDjango(app);
  if (django && has("django")) return startDjango(app, has, django);
  if (django && existsSync(join(app, "manage.py")))
    throw new Problem(
      "manage.py needs Django, and nothing installs it. Next: name django and gunicorn in a requirements.txt (pip freeze > requirements.txt)",
    );
  if (has("streamlit")) return startStreamlit(app);
  if (has("fastapi") || has("starlette")) return startAsgi(app, has) ?? startFile(app);
  if (has("flask")) return startFlask(app, has) ?? startFile(app);
  return startFile(app);
}

function startDjango(app, has, { folder, settings }) {
  const project = settings?.split(".")[0];
  const modules = { wsgi: `${project}.wsgi`, asgi: `${project}.asgi` };
  const isThere = (name) => existsSync(join(app, folder, `${modules[name].replaceAll(".", "/")}.py`));
  const there = folder === "." ? "" : `cd ${quote(folder)} && `;
  if (has("gunicorn") && isThere("wsgi"))
    return { why: "Django with gunicorn", command: `${there}gunicorn ${modules.wsgi} --bind ${address}` };
  if (has("uvicorn") && isThere("asgi"))
    return {
      why: "Django with uvicorn",
      command: `${there}uvicorn ${modules.asgi}:application --host ${host} --port $PORT`,
    };
  return {
    why: "Django's own server",
    command: `${there}python manage.py runserver --noreload ${address}`,
    warning: "Django's own server is for development; add gunicorn to the dependencies",
  };
}

function startAsgi(app, has) {
  const found = findInSource(app, /^(\w+)\s*(?::[^=]+)?=\s*(?:FastAPI|Starlette)\s*\(/m);
  if (!found) return undefined;
  const target = `${found.module}:${found.name}`;
  if (has("uvicorn"))
    return { why: "FastAPI with uvicorn", command: `${found.path}uvicorn ${target} --host ${host} --port $PORT` };
  if (has("hypercorn"))
    return { why: "FastAPI with hypercorn", command: `${found.path}hypercorn ${target} --bind ${address}` };
  throw new Problem(
    `${found.file} has a FastAPI app, and nothing that serves it is installed. Next: add uvicorn to the dependencies`,
  );
}

function startFlask(app, has) {
  const found =
    findInSource(app, /^(\w+)\s*(?::[^=]+)?=\s*(?:Flask|create_app|make_app)\s*\(/m) ??
    findInSource(app, /^def\s+(create_app|make_app)\s*\(/m);
  if (!found) return undefined;
  const isFactory = /^(create|make)_app$/.test(found.name);
  const target = `${found.module}:${found.name}`;
  const call = isFactory ? `'${target}()'` : target;
  if (has("gunicorn"))
    return { why: "Flask with gunicorn", command: `${found.path}gunicorn ${call} --bind ${address}` };
  if (has("waitress"))
    return {
      why: "Flask with waitress",
      command: `${found.path}waitress-serve --listen=${address} ${isFactory ? `--call ${target}` : target}`,
    };
  return {
    why: "Flask's own server",
    command: `${found.path}flask --app ${target} run --host ${host} --port $PORT`,
    warning: "Flask's own server is for development; add gunicorn to the dependencies",
  };
}

function startStreamlit(app) {
  const names = [
    "streamlit_app.py",
    ...usualFiles,
    ...["streamlit_app.py", ...usualFiles].map((name) => `src/${name}`),
  ];
  const file =
    names.find((name) => existsSync(join(app, name))) ??
    listPrograms(app).find((name) => /^\s*(import|from) streamlit\b/m.test(readIfThere(join(app, name))));
  if (!file) return undefined;
  const options = `--server.address ${host} --server.port $PORT --server.headless true`;
  return { why: "Streamlit", command: `streamlit run ${quote(file)} ${options}` };
}

function startFile(app) {
  const file = ["", "src/"]
    .flatMap((folder) => usualFiles.map((name) => folder + name))
    .find((name) => existsSync(join(app, name)));
  return file && { why: file, command: `python ${file}` };
}

/** The first file whose text matches: its module, the name that the match captures, and a setting of the path for the command. */
function findInSource(app, pattern) {
  const folders = [...new Set([...usualFolders, ...listPackages(app, ""), ...listPackages(app, "src/")])];
  const usual = folders.flatMap((folder) => [...usualFiles, "__init__.py"].map((name) => `${folder}${name}`));
  for (const file of [...usual, ...listPrograms(app)]) {
    const name = pattern.exec(readIfThere(join(app, file)))?.[1];
    if (name) return { file, name, ...toModule(app, file) };
  }
  return undefined;
}

/** In the layout with a folder src, which is no package, imports are relative to it. */
function toModule(app, file) {
  const isInSrc = file.startsWith("src/") && !existsSync(join(app, "src", "__init__.py"));
  const module = (isInSrc ? file.slice("src/".length) : file).replace(/(\/__init__)?\.py$/, "").replaceAll("/", ".");
  return { module, path: isInSrc ? "PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH} " : "" };
}

/** Packages in a folder of the app, each with a slash. */
function listPackages(app, folder) {
  if (!existsSync(join(app, folder))) return [];
  return readdirSync(join(app, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(app, folder, entry.name, "__init__.py")))
    .map((entry) => `${folder}${entry.name}/`);
}

/** Programs at the top under any other name, as a first tutorial has them. */
function listPrograms(app) {
  const isTest = (name) => /^(test_.*|.*_test|conftest|setup)\.py$/.test(name);
  return readdirSync(app)
    .filter((name) => name.endsWith(".py") && !isTest(name))
    .sort()
    .slice(0, MOST_PROGRAMS);
}
