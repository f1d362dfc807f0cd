// Ten ways to break an app: one program that fails as its argument says, and what of the app is set differently.

/** Source of server.js. `node server.js <way>` fails in that way; other ways are other settings of an app that works. */
export const PROGRAM = `const { createServer } = require("node:http");
const way = process.argv[2];
const exit = (code) => { console.error("giving up"); process.exit(code); };
if (way === "crash at start") exit(7);
if (way === "out of memory") { const kept = []; setInterval(() => kept.push(Buffer.alloc(8 << 20, 1)), 5); }
if (way === "full disk") {
  const { openSync, writeSync } = require("node:fs");
  const file = openSync((process.env.TMPDIR || "/tmp") + "/filler", "w");
  setInterval(() => writeSync(file, Buffer.alloc(4 << 20, 1)), 20);
}
let healthy = true;
if (way === "crash later") setTimeout(() => exit(8), 3000);
if (way === "failing health check") setTimeout(() => (healthy = false), 2000);
const port = way === "wrong port" ? 9 + Number(process.env.PORT) : process.env.PORT;
createServer((_, answer) => answer.writeHead(healthy ? 200 : 500).end("ok")).listen(port);
`;

/** How one app differs from one that works. */
export interface Way {
  /** The argument of the program. */
  way: string;
  /** Further keys of its manifest. */
  manifest?: Record<string, unknown>;
  /** Merged into App.spec by kubectl before a restart. */
  app?: object;
  /** Merged into Process.spec by kubectl before the start. */
  process?: object;
}

/** By the failures of the table; several rows may be of one way. */
export const WAYS: Readonly<Record<string, Way>> = {
  "wrong port, first seconds": { way: "wrong port", manifest: { timeout: 60 } },
  "wrong port, after the timeout": { way: "wrong port", manifest: { timeout: 4 } },
  "crash at start": { way: "crash at start" },
  "crash later": { way: "crash later" },
  "out of memory": { way: "out of memory", manifest: { memory: "128M" } },
  "full disk": { way: "full disk", manifest: { disk_quota: "64M" } },
  "failing health check": {
    way: "failing health check",
    manifest: { "health-check-type": "http", "health-check-http-endpoint": "/" },
    process: { healthCheck: { type: "http", endpoint: "/", intervalSeconds: 1 } },
  },
  "missing secret": {
    way: "none",
    app: { env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "no-such-secret", key: "key" } } }] },
  },
};
