#!/usr/bin/env node
// The command `cup`, on whatever Node the machine has.
import { run } from "./run.js";

await run("cli/cup");
