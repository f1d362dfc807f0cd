// The rules that decide whether an object may exist or serve, on the embedded API server.
import { startEmbedded } from "../embedded-server.ts";
import { ruleTests } from "./suite.ts";

ruleTests({ name: "the embedded server", start: (users) => startEmbedded({ users }) });
