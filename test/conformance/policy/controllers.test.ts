// The controllers of operator policy on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { policyControllerTests } from "./controllers-suite.ts";
import { startGateTests } from "./start-gate-suite.ts";

policyControllerTests({ name: "the embedded server", start: () => startEmbedded() });
startGateTests({ name: "the embedded server", start: () => startEmbedded() });
