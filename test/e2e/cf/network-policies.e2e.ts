// Runs network-policies.cases.ts.
import { NETWORK_POLICY_CASES } from "./network-policies.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("network-policies", NETWORK_POLICY_CASES);
