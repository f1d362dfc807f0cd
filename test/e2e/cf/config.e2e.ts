// Runs config.cases.ts.
import { CONFIG_CASES } from "./config.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("config", CONFIG_CASES);
