// Apps and command lines that are wrong, each with what `cup` must say (a golden file of the same name) and what happens when its next step is followed.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CommandResult } from "../support/test-platform.ts";

/** A broken app. */
export interface BrokenApp {
  name: string;
  files: Readonly<Record<string, string>>;
  /** Options of `cup push NAME`, run in the app's folder; its memory is 128M unless said. */
  args?: readonly string[];
  /** Another command than a push. */
  command?: readonly string[];
  /** Why a node cannot show it. */
  laptopOnly?: string;
  /** On a node the golden file is `NAME.node.golden.txt`. */
  ownWordsOnNode?: true;
  /** Part of every `npm test`. */
  quick?: true;
  /** Does what the last line says; what it returns must succeed. */
  follow(app: Workplace): Promise<CommandResult>;
}

export interface Workplace {
  name: string;
  folder: string;
  cup(...args: string[]): Promise<CommandResult>;
  /** A command of the user's in the app's folder. */
  run(...command: [string, ...string[]]): Promise<CommandResult>;
  /** Stops Cupola and starts it with the proxy's authority in NODE_EXTRA_CA_CERTS. */
  restart(): Promise<void>;
  /** Pushes again, as the first time. */
  push(...more: string[]): Promise<CommandResult>;
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const PACKAGE = '{ "name": "app", "version": "1.0.0", "scripts": { "start": "node server.js" } }';
const SERVER = 'require("http").createServer((_, response) => response.end("hi")).listen(process.env.PORT);\n';

/** Does what a wrapper of Gradle does as far as a build sees it: it leaves a program. */
const GRADLE_WRAPPER = `#!/bin/sh
mkdir -p build/install/app/bin
cat > build/install/app/bin/app <<'END'
#!/usr/bin/env node
${SERVER}END
chmod +x build/install/app/bin/app
`;

/** A Node.js app with this program. */
const node = (program: string): Record<string, string> => ({ "package.json": PACKAGE, "server.js": program });

/** Corrects the program, then pushes again. */
const correct =
  (files: Readonly<Record<string, string>>) =>
  ({ folder, push }: Workplace): Promise<CommandResult> => {
    writeFiles(folder, files);
    return push();
  };

const correctServer = correct({ "server.js": SERVER });

export const BROKEN_APPS: readonly BrokenApp[] = [
  {
    name: "wrong-port",
    ownWordsOnNode: true,
    files: node(SERVER.replace("process.env.PORT", "34561")),
    quick: true,
    follow: correctServer,
  },
  { name: "crash-at-start", files: node('throw new Error("boom");\n'), quick: true, follow: correctServer },
  { name: "syntax-error", files: node("const x = ;\n"), follow: correctServer },
  { name: "ends-by-itself", files: node('console.log("done");\n'), follow: correctServer },
  {
    name: "missing-package",
    files: node(`require("is-number");\n${SERVER}`),
    async follow({ run, push }) {
      await run("npm", "install", "is-number", "--no-audit", "--no-fund", "--prefer-offline");
      return push();
    },
  },
  {
    // On a machine with Java and without Gradle; refused before anything is uploaded.
    name: "missing-toolchain",
    laptopOnly: "a toolchain of this machine",
    files: { "build.gradle": "plugins { id 'application' }\n" },
    follow: correct({ gradlew: GRADLE_WRAPPER }),
  },
  {
    name: "missing-file",
    ownWordsOnNode: true,
    files: { ...node(SERVER), "package.json": PACKAGE.replace("server.js", "servr.js") },
    follow: correct({ "package.json": PACKAGE }),
  },
  {
    name: "missing-variable",
    files: node(`if (!process.env.DATABASE_URL) throw new Error("DATABASE_URL is not set");\n${SERVER}`),
    quick: true,
    async follow({ cup, name }) {
      await cup("set-env", name, "DATABASE_URL", "postgres://localhost");
      return cup("restart", name);
    },
  },
  {
    name: "out-of-memory",
    files: node(
      `const all = []; for (let i = 0; i < (Number(process.env.MEMORY_LIMIT.slice(0, -1)) < 200 ? 30 : 1); i++) all.push(Buffer.alloc(10e6, i));\nsetTimeout(() => all, 5000);\n${SERVER.replace("require", "if (all.length < 2) require")}`,
    ),
    follow: ({ cup, name }) => cup("scale", name, "-m", "512M"),
  },
  {
    name: "no-start-command",
    ownWordsOnNode: true,
    files: { "package.json": '{ "name": "app" }', "program.js": SERVER },
    follow: ({ push }) => push("-c", "node program.js"),
  },
  {
    name: "start-command-not-found",
    files: node(SERVER),
    args: ["-c", "nodee server.js"],
    follow: ({ push }) => push("-c", "node server.js"),
  },
  {
    name: "port-of-another",
    laptopOnly: "a pod has all ports for itself",
    files: node('require("net").createServer().listen(34562, () => require("http").createServer().listen(34562));\n'),
    follow: correctServer,
  },
  {
    name: "nothing-fits",
    ownWordsOnNode: true,
    files: { "notes.txt": "hello\n", "src/package.json": PACKAGE, "src/server.js": SERVER },
    quick: true,
    follow: ({ push }) => push("--path", "src"),
  },
  {
    name: "lockfile-out-of-step",
    ownWordsOnNode: true,
    files: {
      ...node(SERVER),
      "package.json": PACKAGE.replace('"scripts"', '"dependencies": { "is-number": "7.0.0" }, "scripts"'),
      "package-lock.json":
        '{ "name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": { "": { "name": "app" } } }',
    },
    async follow({ run, push }) {
      await run("npm", "install", "--no-audit", "--no-fund", "--prefer-offline");
      return push();
    },
  },
  {
    name: "package-that-does-not-exist",
    ownWordsOnNode: true,
    files: {
      ...node(SERVER),
      "package.json": PACKAGE.replace('"scripts"', '"dependencies": { "cupola-no-such-package": "1.0.0" }, "scripts"'),
    },
    follow: correct({ "package.json": PACKAGE }),
  },
  {
    name: "broken-package-json",
    ownWordsOnNode: true,
    files: { ...node(SERVER), "package.json": '{ "name": "app", }' },
    follow: correct({ "package.json": PACKAGE }),
  },
  {
    name: "proxy-certificate",
    laptopOnly: "a proxy of this machine",
    files: {
      ...node(SERVER),
      "package.json": PACKAGE.replace('"scripts"', '"dependencies": { "tiny": "1.0.0" }, "scripts"'),
      ".npmrc": "registry=https://127.0.0.1:PROXY_PORT/\nfetch-retries=0\n",
    },
    async follow({ restart, push }) {
      await restart();
      return push();
    },
  },
  {
    name: "unknown-buildpack",
    files: node(SERVER),
    args: ["-b", "no-such-buildpack"],
    follow: async ({ cup, push }) => {
      await cup("buildpacks");
      return push("-b", "nodejs_buildpack");
    },
  },
  {
    name: "mistyped-manifest",
    files: {
      ...node(SERVER),
      "manifest.yml": "applications:\n- name: mistyped-manifest\n  memroy: 128M\n  instances: two\n",
    },
    quick: true,
    follow: correct({ "manifest.yml": "applications:\n- name: mistyped-manifest\n  memory: 128M\n  instances: 1\n" }),
  },
  {
    name: "variable-without-value",
    files: { ...node(SERVER), "manifest.yml": "applications:\n- name: variable-without-value\n  env: { A: ((a)) }\n" },
    follow: ({ push }) => push("--var", "a=b"),
  },
  {
    name: "missing-folder",
    files: node(SERVER),
    args: ["--path", "nowhere"],
    follow: ({ push }) => push("--path", "."),
  },
  {
    name: "empty-folder",
    files: { ".cfignore": "*\n" },
    follow: ({ folder, push }) => {
      writeFiles(folder, { ...node(SERVER), ".cfignore": "" });
      return push("--path", ".");
    },
  },
  {
    name: "image-on-a-laptop",
    laptopOnly: "a node runs images",
    files: node(SERVER),
    args: ["-o", "busybox"],
    async follow({ cup, name, push }) {
      await cup("delete", name, "--force");
      return push("--path", ".");
    },
  },
  { name: "mistyped-size", files: node(SERVER), args: ["-m", "lots"], follow: ({ push }) => push("-m", "128M") },
  {
    name: "unknown-app",
    files: node(SERVER),
    command: ["logs", "no-such-app", "--recent"],
    quick: true,
    follow: ({ cup }) => cup("apps"),
  },
  {
    name: "mistyped-command",
    files: node(SERVER),
    command: ["pussh"],
    quick: true,
    follow: ({ cup }) => cup("push", "--help"),
  },
];

/** The golden text: what differs from run to run is named. */
export function normalise(text: string, places: Readonly<Record<string, string>>): string {
  let plain = text;
  for (const [place, name] of Object.entries(places)) plain = plain.replaceAll(place, name);
  return plain
    .replaceAll(/^→ Using space .*\n/gm, "")
    .replaceAll(/^→ Waiting for instances: .*\n/gm, "")
    .replaceAll(/^→ Uploading .*\n/gm, "")
    .replaceAll(/^ {3}.*\n/gm, "")
    .replaceAll(/^ {2}\| .*\n/gm, "")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<guid>")
    .replaceAll(/not on \d+,/g, "not on <port>,")
    .replaceAll(/, the builder's own/g, "");
}
