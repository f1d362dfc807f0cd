// The app that the suite of runners runs, as a host droplet and as an image. It says what it was given, and fails in the way that a request or a variable asks for.
import { randomUUID } from "node:crypto";
import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const env = process.env;
const CHUNK_MB = 8;
const CHUNK = Buffer.alloc(CHUNK_MB * 2 ** 20, 1);
const started = Date.now();
/** New for every start. */
const boot = randomUUID();
const state = { signals: [], health: 200, ready: 200 };

console.log(`out: started ${boot}`);
console.error(`err: started ${boot}`);
if (env.PROBE_EXIT !== undefined) process.exit(Number(env.PROBE_EXIT));
if (env.PROBE_HOG_MB !== undefined) hog(Number(env.PROBE_HOG_MB));
if (env.PROBE_FILL_MB !== undefined) fill(Number(env.PROBE_FILL_MB));

process.on("SIGTERM", () => {
  state.signals.push("SIGTERM");
  console.log("out: SIGTERM");
  // "ignore", or how long it takes to end.
  if (env.PROBE_ON_SIGTERM !== "ignore") setTimeout(() => process.exit(0), Number(env.PROBE_ON_SIGTERM ?? 0));
});
// Runs on without a port, but not for ever where a killed suite has left it.
setTimeout(() => process.exit(0), 15 * 60_000);

const answers = {
  "/env": () => env,
  "/state": () => ({ boot, cwd: process.cwd(), signals: state.signals }),
  "/read": (query) => ({ text: readFileSync(query.get("path"), "utf8") }),
  "/write": () => writeFileSync(join(tmpdir(), `probe-${boot}`), "written"),
  "/log": (query) => {
    console.log(query.get("out"));
    console.error(query.get("err"));
  },
  "/set": (query) => {
    for (const [name, value] of query) state[name] = Number(value);
  },
  "/exit": (query) => void setTimeout(() => process.exit(Number(query.get("code"))), 50),
};

function answer(request, response) {
  const url = new URL(request.url, "http://probe");
  if (url.pathname === "/health" || url.pathname === "/ready") {
    const isLate = Date.now() - started < Number(env.PROBE_HEALTHY_AFTER ?? 0);
    response.statusCode = isLate ? 503 : state[url.pathname.slice(1)];
    return response.end();
  }
  const known = answers[url.pathname];
  response.statusCode = known ? 200 : 404;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(known?.(url.searchParams) ?? {}));
}

/** Takes memory in small steps, so that a limit ends it. */
function hog(mb) {
  const taken = [];
  setInterval(() => taken.length * CHUNK_MB < mb && taken.push(Buffer.from(CHUNK)), 10);
}

function fill(mb) {
  const file = createWriteStream(join(tmpdir(), `fill-${boot}`));
  file.on("error", (error) => console.error(`err: ${error.message}`));
  const write = (left) => left > 0 && file.write(CHUNK, () => write(left - CHUNK_MB));
  write(mb);
}

function listen() {
  for (const { internal } of JSON.parse(env.CF_INSTANCE_PORTS ?? "[]"))
    createServer(answer).listen(internal, env.HOST ?? "0.0.0.0");
}

if (env.PROBE_LISTEN_AFTER !== "never") setTimeout(listen, Number(env.PROBE_LISTEN_AFTER ?? 0));
