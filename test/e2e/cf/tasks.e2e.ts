// Runs tasks.cases.ts.
import { TASK_CASES } from "./tasks.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("tasks", TASK_CASES);
