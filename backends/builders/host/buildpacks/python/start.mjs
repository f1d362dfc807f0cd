// How a Python app starts, by what is installed: Django, FastAPI, Flask and their like with the server that the app brings.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../shared/files.mjs";
import { Problem } from "../shared/log.mjs";

/** On a laptop HOST is the loopback address; in a container it is not set. */
const host = "${HOST:-0.0.0.0}";
const address = `${host}:$PORT`;
const usualFiles = ["main.py", "app.py", "wsgi.py", "asgi.py", "server.py", "api.py", "application.py", "run.py"];
const usualFolders = ["", "app/", "src/", "api/", "backend/", "server/"];

/** `{ command, why, warning }`; undefined when nothing tells how the app starts. `installed` has the names of packages. Throws when a server is missing. */
export function findStart(app, installed) {
  const has = (name) => installed.has(name);
  if (existsSync(join(app, "manage.py")) && has("django")) return startDjango(app, has);
  if (has("streamlit")) return startStreamlit(app);
  if (has("fastapi") || has("starlette")) return startAsgi(app, has) ?? startFile(app);
  if (has("flask")) return startFlask(app, has) ?? startFile(app);
  return startFile(app);
}

function startDjango(app, has) {
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)/.exec(readIfThere(join(app, "manage.py")))?.[1];
  const project = settings?.split(".")[0];
  const modules = { wsgi: `${project}.wsgi`, asgi: `${project}.asgi` };
  const isThere = (name) => existsSync(join(app, `${modules[name].replaceAll(".", "/")}.py`));
  if (has("gunicorn") && isThere("wsgi"))
    return { why: "Django with gunicorn", command: `gunicorn ${modules.wsgi} --bind ${address}` };
  if (has("uvicorn") && isThere("asgi"))
    return { why: "Django with uvicorn", command: `uvicorn ${modules.asgi}:application --host ${host} --port $PORT` };
  return {
    why: "Django's own server",
    command: `python manage.py runserver --noreload ${address}`,
    warning: "Django's own server is for development; add gunicorn to the dependencies",
  };
}

function startAsgi(app, has) {
  const found = findInSource(app, /^(\w+)\s*(?::[^=]+)?=\s*(?:FastAPI|Starlette)\s*\(/m);
  if (!found) return undefined;
  const target = `${found.module}:${found.name}`;
  if (has("uvicorn")) return { why: "FastAPI with uvicorn", command: `uvicorn ${target} --host ${host} --port $PORT` };
  if (has("hypercorn")) return { why: "FastAPI with hypercorn", command: `hypercorn ${target} --bind ${address}` };
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
  if (has("gunicorn")) return { why: "Flask with gunicorn", command: `gunicorn ${call} --bind ${address}` };
  if (has("waitress"))
    return {
      why: "Flask with waitress",
      command: `waitress-serve --listen=${address} ${isFactory ? `--call ${target}` : target}`,
    };
  return {
    why: "Flask's own server",
    command: `flask --app ${target} run --host ${host} --port $PORT`,
    warning: "Flask's own server is for development; add gunicorn to the dependencies",
  };
}

function startStreamlit(app) {
  const file = ["streamlit_app.py", ...usualFiles].find((name) => existsSync(join(app, name)));
  if (!file) return undefined;
  const options = `--server.address ${host} --server.port $PORT --server.headless true`;
  return { why: "Streamlit", command: `streamlit run ${file} ${options}` };
}

function startFile(app) {
  const file = usualFiles.find((name) => existsSync(join(app, name)));
  return file && { why: file, command: `python ${file}` };
}

/** The first file whose text matches: its module, and the name that the match captures. */
function findInSource(app, pattern) {
  const packages = readdirSync(app, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(app, entry.name, "__init__.py")))
    .map((entry) => `${entry.name}/`);
  const folders = [...new Set([...usualFolders, ...packages])];
  const files = folders.flatMap((folder) => [...usualFiles, "__init__.py"].map((name) => `${folder}${name}`));
  for (const file of files) {
    const name = pattern.exec(readIfThere(join(app, file)))?.[1];
    if (name) return { file, name, module: file.replace(/(\/__init__)?\.py$/, "").replaceAll("/", ".") };
  }
  return undefined;
}
