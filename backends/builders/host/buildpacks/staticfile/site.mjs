// A server for files as the web process. Other buildpacks use it for the sites that their builds leave.
import { copyFileSync, existsSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { readIfThere } from "../shared/files.mjs";
import { openLayer } from "../shared/layers.mjs";
import { Problem, warn } from "../shared/log.mjs";
import { isSupported } from "./passwords.mjs";

const known = new Set([
  "root",
  "pushstate",
  "host_dot_files",
  "directory",
  "force_https",
  "status_codes",
  "http_strict_transport_security",
  "http_strict_transport_security_include_subdomains",
  "http_strict_transport_security_preload",
]);

/** The settings of the Staticfile by name; `status_codes` is a map. */
function readStaticfile(app) {
  const settings = {};
  let map;
  for (const line of readIfThere(join(app, "Staticfile")).split(/\r?\n/)) {
    const match = /^(\s*)['"]?([\w-]+)['"]?\s*:\s*(.*?)\s*$/.exec(line.replace(/(^|\s)#.*$/, ""));
    if (!match) continue;
    const [, indent, name, value] = match;
    const plain = value.replace(/^(['"])(.*)\1$/, "$2");
    if (map && indent !== "") map[name] = plain;
    else if (plain === "") settings[name] = map = {};
    else {
      settings[name] = plain;
      map = undefined;
    }
  }
  for (const name of Object.keys(settings))
    if (!known.has(name)) warn(`${name} in the Staticfile is not supported here and has no effect`);
  return settings;
}

/** The hashes of Staticfile.auth by user; undefined when the site is open. Throws for a hash that the server cannot check. */
function readUsers(app) {
  const rows = readIfThere(join(app, "Staticfile.auth"))
    .split(/\r?\n/)
    .filter((row) => row.trim() !== "" && !row.startsWith("#"));
  if (rows.length === 0) return undefined;
  const users = rows.map((row) => [row.slice(0, row.indexOf(":")), row.slice(row.indexOf(":") + 1).trim()]);
  const wrong = users.find(([name, hash]) => name === "" || !isSupported(hash));
  if (wrong)
    throw new Problem(
      `Staticfile.auth: the hash of ${wrong[0] || "a user"} cannot be checked here. Next: write it with htpasswd -m or htpasswd -s`,
    );
  return Object.fromEntries(users);
}

/** The folder to serve: the Staticfile's, else `found`. Throws when it is no folder of the app. */
function chooseRoot(app, { root = "." }) {
  const path = resolve(app, root);
  if (!relative(app, path).startsWith("..") && existsSync(path) && statSync(path).isDirectory()) return path;
  throw new Problem(`root: ${root} in the Staticfile is no directory of the app. Next: correct it`);
}

/**
 * Adds a layer with the server, set up by the Staticfile. `root` and `pushstate` hold where that says nothing.
 * Returns the command, and in words what is served.
 */
export function writeSite(app, { root, pushstate = false }) {
  const settings = { root, pushstate: pushstate ? "enabled" : "", ...readStaticfile(app) };
  const on = (name) => /^(enabled|true|visible)$/i.test(settings[name] ?? "");
  const users = readUsers(app);
  const folder = chooseRoot(app, settings);
  const layer = openLayer("server", { launch: true });
  for (const file of ["server.mjs", "passwords.mjs"])
    copyFileSync(join(import.meta.dirname, file), join(layer.path, file));
  writeFileSync(
    join(layer.path, "settings.json"),
    JSON.stringify({
      pushstate: on("pushstate"),
      dotFiles: on("host_dot_files"),
      directory: on("directory"),
      forceHttps: on("force_https"),
      statusCodes: settings.status_codes,
      transportSecurity: toTransportSecurity(on),
      users,
    }),
  );
  layer.keep();
  const said = [
    `serves ${relative(app, folder) || "the app's folder"}`,
    ...(on("pushstate") ? ["index.html where there is no file"] : []),
    ...(users ? ["asks for a password (Staticfile.auth)"] : []),
  ];
  return { command: ["node", join(layer.path, "server.mjs"), folder], said: said.join("; ") };
}

function toTransportSecurity(on) {
  if (!on("http_strict_transport_security")) return undefined;
  return [
    "max-age=31536000",
    ...(on("http_strict_transport_security_include_subdomains") ? ["includeSubDomains"] : []),
    ...(on("http_strict_transport_security_preload") ? ["preload"] : []),
  ].join("; ");
}
