// Runs deployments.cases.ts.
import { DEPLOYMENT_CASES } from "./deployments.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("deployments", DEPLOYMENT_CASES);
