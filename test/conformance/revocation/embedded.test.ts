// A revoked namespace on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { revocationTests } from "./suite.ts";

revocationTests({ name: "the embedded server", start: () => startEmbedded() });
