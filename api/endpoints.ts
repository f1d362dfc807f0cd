// The endpoint table: every row of every resource.
import { appEndpoints } from "./app/app.ts";
import { buildEndpoints } from "./build/build.ts";
import { dropletEndpoints } from "./droplet/droplet.ts";
import { manifestEndpoints } from "./manifest/manifest.ts";
import { packageEndpoints } from "./package/package.ts";
import { processEndpoints } from "./process/process.ts";
import { resourceMatchEndpoints } from "./resource-match/resource-match.ts";
import type { Endpoint } from "./endpoint.ts";
import { jobEndpoints } from "./jobs/jobs.ts";
import { logCacheEndpoints } from "./log-cache/log-cache.ts";
import { openApiEndpoint } from "./openapi.ts";
import { orgEndpoints } from "./org/org.ts";
import { discoveryEndpoints } from "./discovery/discovery.ts";
import type { Services } from "./services.ts";
import { whoamiEndpoints } from "./whoami/whoami.ts";

/** All rows, ready to be served. */
export function allEndpoints(services: Services): readonly Endpoint[] {
  const rows = [...discoveryEndpoints, ...whoamiEndpoints, ...jobEndpoints, ...logCacheEndpoints(services), ...orgEndpoints, ...appEndpoints, ...processEndpoints(services), ...packageEndpoints(services), ...buildEndpoints, ...dropletEndpoints(services), ...manifestEndpoints, ...resourceMatchEndpoints];
  return [...rows, openApiEndpoint(rows)];
}
