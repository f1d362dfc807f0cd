// Presents usage events as CF's JSON.
import type { ServiceUsageEvent } from "../../crds/service-usage-log/service-usage-log.ts";
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

const NOBODY = { guid: null, name: null };

export function presentServiceUsageEvent(event: ServiceUsageEvent, base: string): object {
  const { guid, at, state, instance, type, space, orgGUID, plan, offering, broker } = event;
  const time = toTime(at);
  return {
    guid,
    created_at: time,
    updated_at: time,
    state,
    space,
    organization: { guid: orgGUID },
    service_instance: { ...instance, type: INSTANCE_TYPES[type] },
    service_plan: plan ?? NOBODY,
    service_offering: offering ?? NOBODY,
    service_broker: broker ?? NOBODY,
    links: { self: link(`${base}/v3/service_usage_events/${guid}`) },
  };
}

/** CF's words for the types of instances. */
export const INSTANCE_TYPES = {
  managed: "managed_service_instance",
  "user-provided": "user_provided_service_instance",
} as const;
