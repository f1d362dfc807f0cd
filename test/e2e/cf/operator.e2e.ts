// `cf` for orgs, spaces, roles, domains, routes, quotas and what an operator sets: all tables on one platform.
import { DOMAIN_CASES } from "./domains.cases.ts";
import { ISOLATION_SEGMENT_CASES } from "./isolation-segments.cases.ts";
import { ORG_CASES } from "./orgs.cases.ts";
import { QUOTA_CASES } from "./quotas.cases.ts";
import { ROLE_CASES } from "./roles.cases.ts";
import { ROUTE_CASES } from "./routes.cases.ts";
import { SECURITY_GROUP_CASES } from "./security-groups.cases.ts";
import { SETTING_CASES } from "./settings.cases.ts";
import { SPACE_CASES } from "./spaces.cases.ts";
import { runGroup } from "./support/run-cases.ts";

runGroup("orgs and their operator", [
  ...ORG_CASES,
  ...SPACE_CASES,
  ...ROLE_CASES,
  ...DOMAIN_CASES,
  ...ROUTE_CASES,
  ...QUOTA_CASES,
  ...SECURITY_GROUP_CASES,
  ...ISOLATION_SEGMENT_CASES,
  ...SETTING_CASES,
]);
