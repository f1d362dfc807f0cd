// The contract on the embedded API server. What it is known not to do stands in gaps.ts, with the reason.
import { startEmbedded } from "../embedded-server.ts";
import { embeddedGaps } from "./known-gaps.ts";
import { kubernetesApiTests } from "./suite.ts";

kubernetesApiTests({ name: "embedded", start: startEmbedded, gaps: embeddedGaps });
