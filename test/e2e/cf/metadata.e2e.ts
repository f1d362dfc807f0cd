// Runs metadata.cases.ts.
import { METADATA_CASES } from "./metadata.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("metadata", METADATA_CASES);
