// The contract on the embedded API server. What it is known not to do stands in `gaps`, with the reason.
import { startEmbedded } from "./embedded-server.ts";
import { contractOf } from "./suite.ts";

contractOf({ name: "embedded", start: startEmbedded, gaps: {} });
