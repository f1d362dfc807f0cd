// Runs route-services.cases.ts.
import { ROUTE_SERVICE_CASES } from "./route-services.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("route-services", ROUTE_SERVICE_CASES);
