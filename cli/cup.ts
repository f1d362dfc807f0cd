#!/usr/bin/env node
// The entry of `cup`. What Node makes of the sources is kept from run to run, so that the next start is quicker.
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { extname, join } from "node:path";

enableCompileCache(compileCacheFolder());
const { buildProgram } = await import("./program.ts");
await buildProgram().parseAsync(process.argv);

/** Of a checkout: beside its dependencies. An installed package is often in a folder that its user may not write. */
function compileCacheFolder(): string {
  return extname(import.meta.filename) === ".ts"
    ? join(import.meta.dirname, "..", "node_modules", ".cache", "compiled")
    : join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "cupola", "compiled");
}
