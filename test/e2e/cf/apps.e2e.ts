// Runs apps.cases.ts.
import { APP_CASES } from "./apps.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("apps", APP_CASES);
