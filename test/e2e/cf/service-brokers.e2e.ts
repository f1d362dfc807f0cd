// Runs service-brokers.cases.ts.
import { afterAll } from "vitest";
import { BROKER_CASES, closeBrokers } from "./service-brokers.cases.ts";
import { runGroup } from "./support/run-cases.ts";

afterAll(closeBrokers);
runGroup("service-brokers", BROKER_CASES);
