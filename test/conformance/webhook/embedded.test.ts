// The webhook on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { webhookTests } from "./suite.ts";

webhookTests({ name: "the embedded server", start: () => startEmbedded() });
