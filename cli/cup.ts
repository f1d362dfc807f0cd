#!/usr/bin/env node
// The entry of `cup`.
import { buildProgram } from "./program.ts";

await buildProgram().parseAsync(process.argv);
