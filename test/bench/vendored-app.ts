// Writes a Node app that brings its node_modules along: Express and all it needs, copied from our own, so that no build asks a registry.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MODULES = join(import.meta.dirname, "..", "..", "node_modules");

const SERVER = `const express = require("express");
express().get("/", (_request, response) => response.send("vendored")).listen(process.env.PORT);
`;

export function writeVendoredApp(folder: string): void {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      name: "vendored",
      version: "1.0.0",
      private: true,
      main: "server.js",
      scripts: { start: "node server.js" },
      dependencies: { express: "*" },
    }),
  );
  writeFileSync(join(folder, "server.js"), SERVER);
  for (const name of closure("express"))
    cpSync(join(MODULES, name), join(folder, "node_modules", name), { recursive: true });
}

/** A package and all it needs, by the names they have at the top of node_modules; nested ones are copied with their parent. */
function closure(first: string): Set<string> {
  const names = new Set([first]);
  for (const name of names) {
    const manifest = join(MODULES, name, "package.json");
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
      dependencies?: Record<string, string>;
    };
    for (const needed of Object.keys(dependencies)) if (existsSync(join(MODULES, needed))) names.add(needed);
  }
  return names;
}
