// The controllers on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { controllersOn } from "./suite.ts";

controllersOn({ name: "the embedded server", start: () => startEmbedded() });
