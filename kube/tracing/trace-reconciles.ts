// Spans of reconciles: of an object that carries a traceparent, and only where the reconcile wrote something, so that an idle platform has none.
import { LRUCache } from "lru-cache";
import type { KubeObject } from "../api/object.ts";
import { withSpan } from "./current-span.ts";
import { parseTraceparent } from "./trace-context.ts";
import type { Span, Tracing } from "./tracing.ts";

/** A trace tells of what a request caused. What happens to its objects later than this is no part of it. Milliseconds. */
const TRACED_MS = 15 * 60_000;
/** Traced objects that one process remembers. */
const MAX_TRACED = 10_000;

export interface ReconcileTraces {
  /** Runs a reconcile of the object, within a span where it has one. */
  run<T>(controller: string, object: KubeObject | undefined, work: () => Promise<T>): Promise<T>;
}

export interface ReconcileTracesOptions {
  tracing: Tracing;
  /** The annotation of objects that has the traceparent of the span that created or restarted them. */
  annotation: string;
  /** Milliseconds. */
  now?: () => number;
}

export function createReconcileTraces({
  tracing,
  annotation,
  now = () => performance.now(),
}: ReconcileTracesOptions): ReconcileTraces {
  const seen = new LRUCache<string, number>({ max: MAX_TRACED });
  const isRecent = (uid: string, traceparent: string): boolean => {
    const id = `${uid} ${traceparent}`;
    const since = seen.get(id) ?? now();
    seen.set(id, since);
    return now() - since < TRACED_MS;
  };
  const begin = (controller: string, object: KubeObject): Span | undefined => {
    const traceparent = object.metadata.annotations?.[annotation];
    const parent = parseTraceparent(traceparent);
    if (!traceparent || !parent?.sampled || !isRecent(object.metadata.uid ?? "", traceparent)) return undefined;
    const attributes = { controller, ...describeObject(object) };
    return tracing.begin({ name: `reconcile ${object.kind}`, parent, attributes });
  };
  return {
    async run(controller, object, work) {
      const span = object && begin(controller, object);
      if (!span) return work();
      try {
        const outcome = await withSpan(span, work);
        if (span.hasWritten) span.end();
        return outcome;
      } catch (error) {
        span.end({ isFailed: true });
        throw error;
      } finally {
        span.discard();
      }
    },
  };
}

/** Attributes of spans about an object. */
export function describeObject({ metadata: { name = "", namespace } }: KubeObject): Record<string, string> {
  return { ...(namespace && { "k8s.namespace.name": namespace }), "k8s.object.name": name };
}
