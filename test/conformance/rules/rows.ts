// All rows of the suite.
import { quotaRows } from "./quota-rows.ts";
import { routeRows } from "./route-rows.ts";
import { serviceRows } from "./service-rows.ts";
import type { RuleRow } from "./world.ts";

export const RULE_ROWS: readonly RuleRow[] = [...routeRows, ...serviceRows, ...quotaRows];
