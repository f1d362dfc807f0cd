// Rights on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { permissionTests } from "./suite.ts";

permissionTests({ name: "the embedded server", start: (users) => startEmbedded({ users }) });
