// Django: where its manage.py is, its static files, and what its errors at a build mean.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../shared/files.mjs";

/** `{ folder, settings }` of a Django project: at the top, or in the one folder below that has its manage.py. Undefined where there is none. */
export function findDjango(app) {
  const folders = [
    ".",
    ...readdirSync(app, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name),
  ];
  const found = folders.filter((folder) => /django/i.test(readIfThere(join(app, folder, "manage.py"))));
  const [folder] = found.includes(".") ? ["."] : found;
  if (folder === undefined || (folder !== "." && found.length > 1)) return undefined;
  const settings = /DJANGO_SETTINGS_MODULE['"]\s*,\s*['"]([\w.]+)/.exec(
    readIfThere(join(app, folder, "manage.py")),
  )?.[1];
  return { folder, settings };
}

/** Whether its settings, or the files beside them in a package of settings, name a folder for collectstatic. */
export function hasStaticRoot(app, { folder, settings = "" }) {
  const path = join(app, folder, settings.replaceAll(".", "/"));
  const isPackage = /(^|\.)settings(\.|$)/.test(settings) && !existsSync(join(app, folder, "settings.py"));
  const parent = settings.endsWith(".settings") || !isPackage ? path : join(path, "..");
  const beside = existsSync(parent) ? readdirSync(parent).filter((name) => name.endsWith(".py")) : [];
  const texts = [`${path}.py`, ...beside.map((name) => join(parent, name))].map(readIfThere);
  return texts.some((text) => /^\s*STATIC_ROOT\s*=/m.test(text));
}

/** How settings say that a variable is missing: os.environ, django-environ, decouple, and Django itself. */
const missing = [
  /^KeyError: '([A-Za-z]\w*)'/m,
  /Set the (\w+) environment variable/,
  /(\w+) not found\. Declare it as envvar/,
  /The (SECRET_KEY) setting must not be empty/,
];

/** The line that tells why manage.py failed, and the next step. */
export function explainFailure(errors) {
  const rows = errors
    .split("\n")
    .map((row) => row.trim())
    .filter(Boolean);
  const variable = missing.map((pattern) => pattern.exec(errors)?.[1]).find(Boolean);
  const reason = rows.findLast((row) => (variable ? missing.some((pattern) => pattern.test(row)) : true));
  const next =
    variable && `cf set-env APP ${variable} VALUE, or cf set-env APP DISABLE_COLLECTSTATIC 1; then push again`;
  return { reason: reason?.replace(/\.$/, ""), next };
}
