#!/usr/bin/env node
// The command `cupola`, on whatever Node the machine has.
import { run } from "./run.js";

await run("platform/cupola");
