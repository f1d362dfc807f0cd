// Runs tcp-routes.cases.ts.
import { runGroup } from "./support/run-cases.ts";
import { TCP_ROUTE_CASES } from "./tcp-routes.cases.ts";

runGroup("tcp-routes", TCP_ROUTE_CASES);
