// The kube/ suite on the embedded API server, which runs no Deployment controller; the suite needs none.
import { startEmbedded } from "../embedded-server.ts";
import { controllerRuntimeTests } from "./suite.ts";

controllerRuntimeTests({ name: "the embedded server", start: () => startEmbedded() });
