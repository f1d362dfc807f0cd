// Runs services.cases.ts.
import { SERVICE_CASES } from "./services.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("services", SERVICE_CASES);
