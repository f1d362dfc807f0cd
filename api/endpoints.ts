// The endpoint table: every row of every resource.
import type { Endpoint } from "./endpoint.ts";
import { jobEndpoints } from "./job/job.ts";
import { logCacheEndpoints } from "./log-cache/log-cache.ts";
import { openApiEndpoint } from "./openapi.ts";
import { orgEndpoints } from "./org/org.ts";
import { rootEndpoints } from "./root/root.ts";
import type { Services } from "./services.ts";
import { whoamiEndpoints } from "./whoami/whoami.ts";

/** All rows, ready to be served. */
export function allEndpoints(services: Services): readonly Endpoint[] {
  const rows = [...rootEndpoints, ...whoamiEndpoints, ...jobEndpoints, ...logCacheEndpoints(services), ...orgEndpoints];
  return [...rows, openApiEndpoint(rows)];
}
