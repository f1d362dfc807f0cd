// All rows of the suite.
import { placeRows } from "./place-rows.ts";
import { quotaRows } from "./quota-rows.ts";
import { routeRows } from "./route-rows.ts";
import { serviceRows } from "./service-rows.ts";
import type { RuleRow } from "./world.ts";

export const RULE_ROWS: readonly RuleRow[] = [...placeRows, ...routeRows, ...serviceRows, ...quotaRows];
