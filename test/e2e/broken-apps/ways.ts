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
  /** The start command in a container of busybox, which fails in the same way. */
  shell: string;
  /** Further keys of its manifest. */
  manifest?: Record<string, unknown>;
  /** Merged into App.spec by kubectl before a restart. */
  app?: object;
  /** Merged into Process.spec by kubectl before the start. */
  process?: object;
}

const SERVE = "httpd -p $PORT -h /tmp";
const STAY = "sleep 100000";

/** By the failures of the table; several rows may be of one way. */
export const WAYS: Readonly<Record<string, Way>> = {
  "wrong port, first seconds": { way: "wrong port", shell: "exec httpd -f -p 9999", manifest: { timeout: 60 } },
  "wrong port, after the timeout": { way: "wrong port", shell: "exec httpd -f -p 9999", manifest: { timeout: 4 } },
  "crash at start": { way: "crash at start", shell: "exit 7" },
  "crash later": { way: "crash later", shell: `${SERVE}; sleep 3; exit 8` },
  "out of memory": { way: "out of memory", shell: "exec tail /dev/zero", manifest: { memory: "128M" } },
  "full disk": {
    way: "full disk",
    shell: `sleep 2; ${SERVE}; dd if=/dev/zero of=/tmp/filler bs=1M count=200; ${STAY}`,
    manifest: { disk_quota: "64M" },
  },
  "failing health check": {
    way: "failing health check",
    shell: `echo ok >/tmp/healthy; ${SERVE}; sleep 5; rm /tmp/healthy; ${STAY}`,
    manifest: { "health-check-type": "http", "health-check-http-endpoint": "/healthy" },
    process: { healthCheck: { type: "http", endpoint: "/healthy", intervalSeconds: 1 } },
  },
  "missing secret": {
    way: "none",
    shell: `${SERVE}; ${STAY}`,
    app: { env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "no-such-secret", key: "key" } } }] },
  },
  "no schedulable node": { way: "none", shell: `${SERVE}; ${STAY}`, manifest: { memory: "512G" } },
  "bad image": { way: "none", shell: `${SERVE}; ${STAY}` },
  "quota of the namespace": { way: "none", shell: `${SERVE}; ${STAY}` },
};
