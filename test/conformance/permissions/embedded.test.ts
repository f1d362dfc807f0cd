// Rights on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { rightsOn } from "./suite.ts";

rightsOn({ name: "the embedded server", start: (users) => startEmbedded({ users }) });
