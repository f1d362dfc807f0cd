// A revoked namespace on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { revocationOn } from "./suite.ts";

revocationOn({ name: "the embedded server", start: () => startEmbedded() });
