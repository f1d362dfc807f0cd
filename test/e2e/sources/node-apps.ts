// Apps of Node.js in the shapes that people have.
import type { SourceApp } from "./app.ts";

/** A server without dependencies. */
const plainServer = `require("http").createServer((q, r) => r.end("ONE")).listen(process.env.PORT, process.env.HOST);\n`;
const json = (value: object): string => JSON.stringify(value, null, 2);
/** Express is what most of them use, and the smallest dependency that stands for all. */
const expressServer = `const app = require("express")();\napp.get("/", (q, r) => r.send("ONE"));\napp.listen(process.env.PORT, process.env.HOST);\n`;

const express: SourceApp = {
  name: "express",
  files: {
    "package.json": json({
      name: "express-app",
      dependencies: { express: "^5.1.0" },
      scripts: { start: "node server.js" },
    }),
    "server.js": expressServer,
  },
  says: /npm install --omit=dev/,
  inCI: true,
};

const expressLock: SourceApp = {
  ...express,
  name: "express-lock",
  prepare: [["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"]],
  says: /npm by package-lock.json[^]*npm ci --omit=dev/,
  inCI: false,
};

const pnpm: SourceApp = {
  name: "pnpm",
  files: {
    "package.json": json({
      name: "pnpm-app",
      packageManager: "pnpm@10.17.0",
      dependencies: { express: "^5.1.0" },
      devDependencies: { ms: "2.1.3" },
      scripts: { build: "node build.js", start: "node server.js" },
    }),
    "build.js": `require("fs").writeFileSync("built.txt", "ONE" + require("ms")(1000));\n`,
    "server.js": `const app = require("express")();\napp.get("/", (q, r) => r.send(require("fs").readFileSync("built.txt", "utf8")));\napp.listen(process.env.PORT, process.env.HOST);\n`,
  },
  says: /pnpm by packageManager; script build[^]*pnpm prune --prod/,
};

const yarn: SourceApp = {
  name: "yarn",
  files: {
    "package.json": json({ name: "yarn-app", dependencies: { ms: "2.1.3" }, scripts: { start: "node server.js" } }),
    "yarn.lock": `# yarn lockfile v1\n\n\nms@2.1.3:\n  version "2.1.3"\n  resolved "https://registry.yarnpkg.com/ms/-/ms-2.1.3.tgz#574c8138ce1d2b5861f0b44579dbadd60c6615b2"\n  integrity sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==\n`,
    "server.js": `require("ms");\n${plainServer}`,
  },
  says: /yarn by yarn.lock[^]*yarn install --frozen-lockfile --production=true/,
};

const yarnBerry: SourceApp = {
  name: "yarn-berry",
  files: {
    "package.json": json({
      name: "berry-app",
      packageManager: "yarn@4.9.2",
      dependencies: { ms: "2.1.3" },
      scripts: { start: "node server.js" },
    }),
    "server.js": `require("ms");\n${plainServer}`,
  },
  says: /yarn by packageManager[^]*yarn install/,
};

const bun: SourceApp = {
  name: "bun",
  files: {
    "package.json": json({
      name: "bun-app",
      packageManager: "bun@1.4.5",
      dependencies: { ms: "2.1.3" },
      devDependencies: { "is-odd": "3.0.1" },
      scripts: { build: "bun build.ts", start: "bun server.ts" },
    }),
    "build.ts": `import isOdd from "is-odd";\nawait Bun.write("built.txt", "ONE " + isOdd(3));\n`,
    "server.ts": `import ms from "ms";\nconst text = await Bun.file("built.txt").text();\nBun.serve({ port: Number(process.env.PORT), hostname: process.env.HOST, fetch: () => new Response(text + ms(1000)) });\n`,
  },
  says: /bun by packageManager; script build[^]*bun install[^]*Starts by start script: bun server.ts/,
};

const next: SourceApp = {
  name: "nextjs",
  files: {
    "package.json": json({
      name: "next-app",
      private: true,
      scripts: { dev: "next dev", build: "next build", start: "next start" },
      dependencies: { next: "^15.3.0", react: "^19.1.0", "react-dom": "^19.1.0" },
    }),
    "app/layout.js": `export default function Layout({ children }) {\n  return <html><body>{children}</body></html>;\n}\n`,
    "app/page.js": `export default function Page() {\n  return <p>{"ONE"}</p>;\n}\n`,
  },
  manifest: { memory: "512M" },
  says: /script build[^]*npm run build[^]*Starts by start script: next start/,
};

const vite: SourceApp = {
  name: "vite",
  files: {
    "package.json": json({
      name: "vite-app",
      private: true,
      type: "module",
      scripts: { dev: "vite", build: "vite build", preview: "vite preview" },
      devDependencies: { vite: "^7.0.0" },
    }),
    "index.html": `<!doctype html><title>ONE</title><script type="module" src="/main.js"></script>\n`,
    "main.js": `document.body.textContent = "ONE";\n`,
  },
  at: "/some/page",
  says: /npm run build[^]*By dist\/index.html: serves dist; index.html where there is no file/,
  inCI: true,
};

const nest: SourceApp = {
  name: "nest",
  files: {
    "package.json": json({
      name: "nest-app",
      private: true,
      scripts: { build: "nest build", start: "nest start", "start:prod": "node dist/main" },
      dependencies: {
        "@nestjs/common": "^11.1.0",
        "@nestjs/core": "^11.1.0",
        "@nestjs/platform-express": "^11.1.0",
        "reflect-metadata": "^0.2.2",
        rxjs: "^7.8.2",
      },
      devDependencies: { "@nestjs/cli": "^11.0.0", typescript: "^5.8.0", "@types/node": "^22.0.0" },
    }),
    "nest-cli.json": json({ sourceRoot: "src" }),
    "tsconfig.json": json({
      compilerOptions: {
        module: "commonjs",
        target: "es2022",
        outDir: "./dist",
        rootDir: "./src",
        emitDecoratorMetadata: true,
        experimentalDecorators: true,
        skipLibCheck: true,
      },
      include: ["src"],
    }),
    "src/main.ts": `import { NestFactory } from "@nestjs/core";\nimport { AppModule } from "./app.module";\n\nasync function bootstrap() {\n  const app = await NestFactory.create(AppModule);\n  await app.listen(process.env.PORT ?? 3000, process.env.HOST ?? "0.0.0.0");\n}\nvoid bootstrap();\n`,
    "src/app.module.ts": `import { Controller, Get, Module } from "@nestjs/common";\n\n@Controller()\nclass AppController {\n  @Get()\n  hello(): string {\n    return "ONE";\n  }\n}\n\n@Module({ controllers: [AppController] })\nexport class AppModule {}\n`,
  },
  says: /npm run build[^]*Starts by start:prod script: node dist\/main/,
};

const typescript: SourceApp = {
  name: "typescript",
  files: {
    "package.json": json({
      name: "ts-app",
      scripts: { build: "tsc", start: "node dist/server.js" },
      devDependencies: { typescript: "^5.8.0", "@types/node": "^22.0.0" },
    }),
    "tsconfig.json": json({
      compilerOptions: { outDir: "dist", module: "commonjs", target: "es2022", types: ["node"] },
      include: ["src"],
    }),
    "src/server.ts": `import { createServer } from "http";\n\ncreateServer((_request, response) => response.end("ONE")).listen(Number(process.env.PORT), process.env.HOST);\n`,
  },
  says: /npm run build[^]*npm prune --omit=dev/,
};

const engines: SourceApp = {
  name: "engines",
  files: {
    "package.json": json({ name: "engines-app", engines: { node: "20.x" }, scripts: { start: "node server.js" } }),
    "server.js": `require("http").createServer((q, r) => r.end("ONE " + process.version)).listen(process.env.PORT, process.env.HOST);\n`,
  },
  says: /Node.js 20\.\d+\.\d+ \(from engines.node, 20.x\)/,
};

const bare: SourceApp = {
  name: "bare-server",
  files: { "server.js": plainServer },
  says: /Starts by server.js: node server.js/,
  inPods: true,
};

const webAndWorker: SourceApp = {
  name: "web-worker",
  files: {
    "package.json": json({ name: "both", scripts: { start: "node web.js" } }),
    "web.js": plainServer,
    "worker.js": `setInterval(() => console.log("working"), 1000);\n`,
    Procfile: "web: node web.js\nworker: node worker.js\n",
  },
  manifest: { processes: [{ type: "worker", instances: 1, memory: "64M", "health-check-type": "process" }] },
  says: /Procfile: web, worker/,
  inCI: true,
};

const monorepo: SourceApp = {
  name: "monorepo",
  files: {
    "package.json": json({ name: "all", private: true, workspaces: ["apps/*"] }),
    "apps/web/package.json": json({ name: "web", main: "lib/start.js" }),
    "apps/web/lib/start.js": plainServer,
    "apps/other/package.json": json({ name: "other" }),
  },
  path: "apps/web",
  says: /Starts by lib\/start.js: node lib\/start.js/,
};

const workspaces: SourceApp = {
  name: "workspaces",
  files: {
    "package.json": json({
      name: "all",
      private: true,
      workspaces: ["packages/*"],
      scripts: { start: "node packages/web/server.js" },
    }),
    "packages/text/package.json": json({ name: "@all/text", version: "1.0.0", main: "index.js" }),
    "packages/text/index.js": `module.exports = "ONE";\n`,
    "packages/web/package.json": json({ name: "@all/web", version: "1.0.0", dependencies: { "@all/text": "1.0.0" } }),
    "packages/web/server.js": `require("http").createServer((q, r) => r.end(require("@all/text"))).listen(process.env.PORT, process.env.HOST);\n`,
  },
  says: /npm install/,
};

/** The top says nothing of a start: the package that has one is the app, after a build of the other. */
const workspacesAlone: SourceApp = {
  name: "workspaces-alone",
  files: {
    "package.json": json({ name: "all", private: true, workspaces: ["packages/*"] }),
    "packages/text/package.json": json({
      name: "@all/text",
      version: "1.0.0",
      main: "built.js",
      scripts: { build: "cp source.js built.js" },
    }),
    "packages/text/source.js": `module.exports = "ONE";\n`,
    "packages/web/package.json": json({
      name: "@all/web",
      version: "1.0.0",
      dependencies: { "@all/text": "1.0.0" },
      scripts: { start: "node server.js" },
    }),
    "packages/web/server.js": `require("http").createServer((q, r) => r.end(require("@all/text"))).listen(process.env.PORT, process.env.HOST);\n`,
  },
  says: /npm run build \(in packages\/text\)[^]*Starts by packages\/web: start script: cd packages\/web && node server.js/,
};

/** The start needs a devDependency, and its imports name no file ending, which Node itself would not find. */
const tsx: SourceApp = {
  name: "tsx",
  files: {
    "package.json": json({
      name: "tsx-app",
      type: "module",
      scripts: { dev: "tsx watch src/index.ts", start: "tsx src/index.ts" },
      devDependencies: { tsx: "^4.20.0" },
    }),
    "src/index.ts": `import { createServer } from "node:http";\nimport { text } from "./text";\n\ncreateServer((_request, response) => response.end(text)).listen(Number(process.env.PORT), process.env.HOST);\n`,
    "src/text.ts": `export const text: string = "ONE";\n`,
  },
  says: /npm install --include=dev[^]*the start command needs tsx, so devDependencies are kept/,
};

/** 200 MB that a compressor cannot make smaller. */
const large: SourceApp = {
  name: "large-folder",
  files: { "server.js": plainServer },
  prepare: [
    [
      "node",
      "-e",
      `const fs = require("fs"); fs.mkdirSync("data"); for (let i = 0; i < 100; i++) fs.writeFileSync("data/" + i, require("crypto").randomBytes(2 ** 21));`,
    ],
  ],
  manifest: { disk_quota: "2G" },
  says: /node server.js/,
};

export const nodeApps: readonly SourceApp[] = [
  express,
  expressLock,
  pnpm,
  yarn,
  yarnBerry,
  bun,
  next,
  vite,
  nest,
  typescript,
  engines,
  bare,
  webAndWorker,
  monorepo,
  workspaces,
  workspacesAlone,
  tsx,
  large,
];
