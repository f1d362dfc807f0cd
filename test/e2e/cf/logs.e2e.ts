// Runs logs.cases.ts.
import { LOG_CASES } from "./logs.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("logs", LOG_CASES);
