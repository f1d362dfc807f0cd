// The machinery on the embedded API server. Deployments have no controller there; nothing in the suite needs one.
import { startEmbedded } from "../embedded-server.ts";
import { machineryOn } from "./suite.ts";

machineryOn({ name: "the embedded server", start: () => startEmbedded() });
