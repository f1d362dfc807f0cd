#!/usr/bin/env node
// The entry of `cup`, which bin/cup.js calls.
import "./compile-cache.mjs";

const { buildProgram } = await import("./program.ts");
await buildProgram().parseAsync(process.argv);
