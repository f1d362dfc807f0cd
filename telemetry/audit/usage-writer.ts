// Writes usage events into UsageLog and ServiceUsageLog objects.
import { ServiceUsageLog, type ServiceUsageEvent } from "../../crds/service-usage-log/service-usage-log.ts";
import { MAX_SEGMENT_EVENTS, UsageLog, type AppUsageEvent } from "../../crds/usage-log/usage-log.ts";
import { createEventWriter, type EventWriter, type EventWriterDeps } from "./event-writer.ts";

const kind = { ref: UsageLog, prefix: "usage", maxEvents: MAX_SEGMENT_EVENTS };

export function createUsageWriter(deps: Omit<EventWriterDeps, "kind">): EventWriter<AppUsageEvent> {
  return createEventWriter<AppUsageEvent>({ ...deps, kind });
}

const serviceKind = { ref: ServiceUsageLog, prefix: "service-usage", maxEvents: MAX_SEGMENT_EVENTS };

export function createServiceUsageWriter(deps: Omit<EventWriterDeps, "kind">): EventWriter<ServiceUsageEvent> {
  return createEventWriter<ServiceUsageEvent>({ ...deps, kind: serviceKind });
}
