// Serves a directory, and nothing outside it, on $HOST:$PORT: GET and HEAD, index.html, 404.html. No dependencies: it runs inside the droplet.
import { createReadStream, readFileSync } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream";
import { isAllowed } from "./passwords.mjs";

const root = await realpath(process.argv[2]);
const settings = JSON.parse(readFileSync(new URL("settings.json", import.meta.url), "utf8"));
const types = {
  html: "text/html; charset=utf-8",
  htm: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  mjs: "text/javascript; charset=utf-8",
  json: "application/json",
  map: "application/json",
  webmanifest: "application/manifest+json",
  xml: "application/xml",
  txt: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  ico: "image/x-icon",
  woff: "font/woff",
  woff2: "font/woff2",
  ttf: "font/ttf",
  otf: "font/otf",
  wasm: "application/wasm",
  pdf: "application/pdf",
  mp4: "video/mp4",
  webm: "video/webm",
  mp3: "audio/mpeg",
  zip: "application/zip",
};
// Files that configure the platform are not served.
const hidden = new Set(["Staticfile", "Staticfile.auth", "Procfile", "manifest.yml", "manifest.yaml"]);

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(`${request.method} ${request.url}: ${error.message}`);
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end("Internal Server Error\n");
  });
});
server.listen(Number(process.env.PORT ?? 8080), process.env.HOST || "0.0.0.0", () =>
  console.log(`Serving ${root} on port ${server.address().port}`),
);
process.once("SIGTERM", () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});

async function answer(request, response) {
  if (settings.transportSecurity) response.setHeader("strict-transport-security", settings.transportSecurity);
  const secure = settings.forceHttps && toSecureUrl(request);
  if (secure) return response.writeHead(301, { location: secure }).end();
  if (settings.users && !isAllowed(settings.users, request.headers.authorization))
    return response.writeHead(401, { "www-authenticate": 'Basic realm="Restricted", charset="UTF-8"' }).end();
  if (request.method !== "GET" && request.method !== "HEAD")
    return response.writeHead(405, { allow: "GET, HEAD" }).end();
  // A path may begin with two slashes, which are no host; a proxy may send the whole URL.
  const target = `http://static${request.url.replace(/^https?:\/\/[^/?]*/, "")}`;
  if (!URL.canParse(target)) return response.writeHead(400).end("Bad Request\n");
  const url = new URL(target);
  const parts = toParts(url.pathname);
  const found = parts && (await find(join(root, ...parts)));
  if (found?.isDirectory && !url.pathname.endsWith("/"))
    return response.writeHead(301, { location: `${url.pathname.replace(/^\/+/, "/")}/${url.search}` }).end();
  if (found?.isDirectory) return answerDirectory(request, response, found);
  if (found) return send(request, response, 200, found);
  const instead = settings.pushstate ? await find(join(root, "index.html")) : undefined;
  if (instead) return send(request, response, 200, instead);
  return notFound(request, response);
}

/** Where https is served; undefined for what came by https, and on a laptop, which has none. */
function toSecureUrl({ headers, url }) {
  const host = headers["x-forwarded-host"] ?? headers.host ?? "";
  const name = host.replace(/:\d+$/, "");
  const isLocal = name === "" || name === "localhost" || name.endsWith(".localhost") || /^[\d.[\]:]+$/.test(name);
  return headers["x-forwarded-proto"] === "http" && !isLocal ? `https://${host}${url}` : undefined;
}

// Undefined for a malformed escape, a path upwards and a hidden file.
function toParts(pathname) {
  let path;
  try {
    path = decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const refused = (part) =>
    part === ".." || /[\0\\]/.test(part) || hidden.has(part) || (part.startsWith(".") && !settings.dotFiles);
  return parts.some(refused) ? undefined : parts;
}

// Checks the real path, so that no symlink leads out of the directory.
async function find(path) {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined || (real !== root && !real.startsWith(root + sep))) return undefined;
  const stats = await stat(real);
  return stats.isFile() || stats.isDirectory()
    ? { path: real, size: stats.size, modified: stats.mtime, isDirectory: stats.isDirectory() }
    : undefined;
}

async function answerDirectory(request, response, directory) {
  const index = await find(join(directory.path, "index.html"));
  if (index && !index.isDirectory) return send(request, response, 200, index);
  if (!settings.directory) return notFound(request, response);
  const names = (await readdir(directory.path))
    .filter((name) => !hidden.has(name) && (settings.dotFiles || !name.startsWith(".")))
    .sort();
  const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  const rows = names.map((name) => `<li><a href="${encodeURIComponent(name)}">${escape(name)}</a></li>`);
  const body = `<!doctype html><meta charset="utf-8"><ul>${rows.join("")}</ul>`;
  response
    .writeHead(200, { "content-type": types.html, "content-length": Buffer.byteLength(body) })
    .end(request.method === "HEAD" ? undefined : body);
}

async function notFound(request, response) {
  const page = await find(join(root, settings.statusCodes?.["404"] ?? "404.html"));
  if (page && !page.isDirectory) return send(request, response, 404, page);
  response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("Not Found\n");
}

function send(request, response, status, file) {
  const etag = `W/"${file.size.toString(16)}-${file.modified.getTime().toString(16)}"`;
  const headers = {
    "content-type": types[extname(file.path).slice(1).toLowerCase()] ?? "application/octet-stream",
    "last-modified": file.modified.toUTCString(),
    etag,
    "x-content-type-options": "nosniff",
  };
  if (status === 200 && request.headers["if-none-match"] === etag) return response.writeHead(304, headers).end();
  response.writeHead(status, { ...headers, "content-length": file.size });
  if (request.method === "HEAD") return response.end();
  pipeline(createReadStream(file.path), response, (error) => error && response.destroy());
}
