// The machinery on the embedded API server. Deployments have no controller there; nothing in the suite needs one.
import { startEmbedded } from "../embedded-server.ts";
import { controllerRuntimeTests } from "./suite.ts";

controllerRuntimeTests({ name: "the embedded server", start: () => startEmbedded() });
