// Runs push.cases.ts.
import { PUSH_CASES } from "./push.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("push", PUSH_CASES);
