// Runs manifests.cases.ts.
import { MANIFEST_CASES } from "./manifests.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("manifests", MANIFEST_CASES);
