// How a built app starts: its start script, its server file, its framework's server, or a server for the files that the build left.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { quote, readIfThere } from "../shared/files.mjs";
import { dependsOn } from "./package.mjs";

/** Servers for a developer's machine: none of them is for production, and some need devDependencies. */
const devServer =
  /^(npx )?(vite( (dev|serve|preview))?|react-scripts start|vue-cli-service serve|ng serve|astro (dev|preview)|parcel|webpack(-dev-server| serve)|nest start|nodemon|next dev|nuxt dev|gatsby (develop|serve)|docusaurus (start|serve)|svelte-kit dev|(@11ty\/)?eleventy .*--(serve|watch))\b/;

const serverFiles = ["server.js", "server.mjs", "server.cjs"];
const builtServers = [
  ".output/server/index.mjs",
  "dist/server/entry.mjs",
  "build/index.js",
  "dist/main.js",
  "dist/server.js",
  "dist/index.js",
];
const plainFiles = ["app.js", "main.js", "index.js", "index.mjs", "server.ts", "app.ts", "main.ts", "index.ts"];
/** Where builds leave a site, the most telling first. */
const siteFolders = ["dist", "build", "out", ".output/public", "_site", "public", "dist/client", "."];

/**
 * `{ command, why }`, or `{ site, why }` with the folder to serve; undefined when there is nothing to start.
 * Call it after the build.
 */
export function findStart(app, description) {
  const { scripts = {} } = description;
  if (existsSync(join(app, "Staticfile"))) return { site: findSite(app, description) ?? ".", why: "Staticfile" };
  const script = withHooks(scripts, "start");
  const isDev = devServer.test((scripts.start ?? "").trim());
  if (script && !isDev) return { command: script, why: "start script" };
  const production = ["start:prod", "start:production", "serve:prod"].find((name) => scripts[name]);
  if (production) return { command: withHooks(scripts, production), why: `${production} script` };
  return (
    startFile(findServer(app, description)) ??
    findFramework(app, description) ??
    toSite(scripts.build && findSite(app, description)) ??
    startFile(plainFiles.find((name) => existsSync(join(app, name)) && !isForBrowser(app, name))) ??
    toSite(findSite(app, description)) ??
    (script ? { command: script, why: "start script, a server for development" } : undefined)
  );
}

function startFile(file) {
  return file && { command: `node ${quote(file)}`, why: file };
}

function toSite(site) {
  return site && { site, why: `${site === "." ? "" : `${site}/`}index.html` };
}

/** Whether the app's page loads the file. */
function isForBrowser(app, name) {
  return readIfThere(join(app, "index.html")).includes(name);
}

/** The script's text with its pre and post scripts. It runs without npm, which takes memory and keeps signals from the app. */
function withHooks(scripts, name) {
  if (!scripts[name]) return undefined;
  return [scripts[`pre${name}`], scripts[name], scripts[`post${name}`]].filter(Boolean).join(" && ");
}

function findServer(app, { main, scripts }) {
  const built = scripts?.build ? builtServers : [];
  return [...serverFiles, ...(main ? [main] : []), ...built].find(
    (name) => typeof name === "string" && name !== "" && existsSync(join(app, name)),
  );
}

function findFramework(app, description) {
  if (dependsOn(description, "next") && existsSync(join(app, ".next", "BUILD_ID")))
    return { command: "next start", why: "Next.js" };
  return undefined;
}

/** The folder with index.html that the build left, or that came along. Angular's is one folder deeper. */
function findSite(app, { name }) {
  const angular = name ? [`dist/${name}/browser`, `dist/${name}`] : [];
  return [...siteFolders, ...angular, "dist/browser"].find((folder) => existsSync(join(app, folder, "index.html")));
}

/** How much of a site is looked through for its pages: folders below one another, and entries. */
const DEEPEST = 8;
const MOST_ENTRIES = 20_000;
/** Under these names hosts of sites look for a copy of the one page. */
const copies = ["404.html", "200.html"];

/** Whether the site has one page, which routes in the browser. One with several pages tells itself what is not there. */
export function isSinglePage(app, site) {
  const root = join(app, site);
  const index = readIfThere(join(root, "index.html"));
  for (const page of findPages(root))
    if (page !== "index.html" && !(copies.includes(page) && readIfThere(join(root, page)) === index)) return false;
  return true;
}

/** Paths of the HTML files that are served, those near the top first. What lies beyond the bounds is not found. */
function* findPages(root) {
  const folders = [{ path: "", depth: 0 }];
  let seen = 0;
  // Folders are added on the way.
  for (const { path, depth } of folders) {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      if (++seen > MOST_ENTRIES) return;
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const found = join(path, entry.name);
      if (!entry.isDirectory() && entry.name.endsWith(".html")) yield found;
      if (entry.isDirectory() && depth < DEEPEST) folders.push({ path: found, depth: depth + 1 });
    }
  }
}
