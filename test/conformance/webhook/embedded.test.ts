// The webhook on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { webhookOn } from "./suite.ts";

webhookOn({ name: "the embedded server", start: () => startEmbedded() });
