// Runs shared-services.cases.ts.
import { afterAll } from "vitest";
import { SHARED_SERVICE_CASES } from "./shared-services.cases.ts";
import { closeBrokers } from "./support/brokers.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("shared-services", SHARED_SERVICE_CASES);
afterAll(closeBrokers);
