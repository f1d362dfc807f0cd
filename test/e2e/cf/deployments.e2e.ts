// Runs deployments.cases.ts and revisions.cases.ts.
import { DEPLOYMENT_CASES } from "./deployments.cases.ts";
import { REVISION_CASES } from "./revisions.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("deployments", [...DEPLOYMENT_CASES, ...REVISION_CASES]);
