// Many clusters, each an embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { remoteChildrenTests } from "./remote-children.ts";

remoteChildrenTests("embedded servers", () => startEmbedded());
