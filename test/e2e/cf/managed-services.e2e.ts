// Runs managed-services.cases.ts.
import { afterAll } from "vitest";
import { MANAGED_SERVICE_CASES } from "./managed-services.cases.ts";
import { closeBrokers } from "./support/brokers.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("managed-services", MANAGED_SERVICE_CASES);
afterAll(closeBrokers);
