// Presents a usage event as CF's JSON.
import type { AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { link } from "../http/presentation.ts";
import { toTime } from "../../kube/api/times.ts";

export function presentAppUsageEvent(event: AppUsageEvent, base: string): object {
  const { guid, at, state, app, process, task, space, orgGUID, buildpack, memoryMB, instances } = event;
  const time = toTime(at);
  return {
    guid,
    created_at: time,
    updated_at: time,
    state,
    app,
    process: process ?? { guid: null, type: null },
    space,
    organization: { guid: orgGUID },
    // Buildpacks of the builder's image have no GUID.
    buildpack: { guid: null, name: buildpack?.name ?? null },
    task: task ?? { guid: null, name: null },
    memory_in_mb_per_instance: memoryMB,
    instance_count: instances,
    links: { self: link(`${base}/v3/app_usage_events/${guid}`) },
  };
}
