#!/usr/bin/env node
// The entry of `cup`. What Node makes of the sources is kept from run to run, beside the dependencies, so that the next start is quicker.
import { enableCompileCache } from "node:module";
import { join } from "node:path";

enableCompileCache(join(import.meta.dirname, "..", "node_modules", ".cache", "compiled"));
const { buildProgram } = await import("./program.ts");
await buildProgram().parseAsync(process.argv);
