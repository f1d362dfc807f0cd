// Runs route-paths.cases.ts, strategies.cases.ts and more-flags.cases.ts.
import { MORE_FLAG_CASES } from "./more-flags.cases.ts";
import { ROUTE_PATH_CASES } from "./route-paths.cases.ts";
import { STRATEGY_CASES } from "./strategies.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("more flags", [...MORE_FLAG_CASES, ...ROUTE_PATH_CASES, ...STRATEGY_CASES]);
