// The controllers on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { controllerTests } from "./suite.ts";

controllerTests({ name: "the embedded server", start: () => startEmbedded() });
