// Spans of starts: an LRP from its creation until all its instances run, and below it each instance. The leader alone makes them, so that each is sent once.
import { LRP } from "../../crds/lrp/lrp.ts";
import { ANNOTATIONS } from "../../crds/labels.ts";
import type { Informers } from "../../kube/cache/informers.ts";
import type { RunningLeaderWork } from "../../kube/lease/leader-work.ts";
import { parseTraceparent } from "../../kube/tracing/trace-context.ts";
import { describeObject } from "../../kube/tracing/trace-reconciles.ts";
import type { Span, Tracing } from "../../kube/tracing/tracing.ts";
import { follow, isStarted } from "../follow-ends.ts";
import { COUNTING_LEASE } from "../metrics/platform-metrics.ts";

/** Instances of a start that have a span each. */
const MAX_INSTANCES = 20;

interface FollowedStarts {
  tracing?: Tracing | undefined;
  informers: Informers;
  disposables: AsyncDisposableStack;
}

/** In a process that makes traces and may lead the controllers. */
export function followStarts(
  { tracing, informers, disposables }: FollowedStarts,
  elections: readonly RunningLeaderWork[],
): void {
  const leading = elections.find(({ name }) => name === COUNTING_LEASE);
  if (!tracing || !leading) return;
  const onStart = (lrp: LRP, seconds: number | undefined): void => {
    if (seconds !== undefined && leading.isLeading()) traceStart(tracing, lrp, new Date(Date.now() - seconds * 1000));
  };
  disposables.defer(follow(informers, LRP, { isEnded: isStarted, now: () => performance.now() }, onStart));
}

function traceStart(tracing: Tracing, lrp: LRP, startTime: Date): void {
  const parent = parseTraceparent(lrp.metadata.annotations?.[ANNOTATIONS.traceparent]);
  if (!parent?.sampled) return;
  const attributes = { ...describeObject(lrp), runner: lrp.spec.class, instances: lrp.spec.instances };
  const span = tracing.begin({ name: "start LRP", parent, attributes, startTime });
  if (!span) return;
  for (const { index, since } of (lrp.status?.instances ?? []).slice(0, MAX_INSTANCES))
    traceInstance(tracing, span, { index, startTime, since });
  span.end();
}

/** `since`: when the instance has become ready, in whole seconds. */
function traceInstance(
  tracing: Tracing,
  { context: parent }: Span,
  { index, startTime, since }: { index: number; startTime: Date; since: string | undefined },
): void {
  const ready = since === undefined ? new Date() : new Date(Math.max(Date.parse(since), startTime.getTime()));
  tracing.begin({ name: "instance ready", parent, attributes: { index }, startTime })?.end({ endTime: ready });
}
