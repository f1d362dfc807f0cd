// Runs apps.cases.ts and changes.cases.ts.
import { APP_CASES } from "./apps.cases.ts";
import { CHANGE_CASES } from "./changes.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("apps", [...APP_CASES, ...CHANGE_CASES]);
