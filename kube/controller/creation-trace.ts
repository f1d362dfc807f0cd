// The trace of a child: that of its creation, for as long as it exists, so that no later span causes a write.
import type { KubeObject } from "../api/object.ts";
import type { Draft } from "../client/client.ts";
import { currentTraceparent } from "../tracing/current-span.ts";

interface Existing {
  live?: KubeObject | undefined;
  /** Fields of the child that this controller has applied, as in managedFields. */
  applied?: Record<string, unknown> | undefined;
}

/** A new child has the trace of its draft, else that of the current span. One that exists keeps the trace that it has of this controller. */
export function withCreationTrace(draft: Draft, key: string | undefined, { live, applied }: Existing): Draft {
  if (key === undefined) return draft;
  const { [key]: planned, ...others } = draft.metadata.annotations ?? {};
  const trace = live ? keptTrace(key, live, applied) : (planned ?? currentTraceparent());
  if (trace === planned) return draft;
  return { ...draft, metadata: { ...draft.metadata, annotations: { ...others, ...(trace && { [key]: trace }) } } };
}

function keptTrace(key: string, live: KubeObject, applied: Existing["applied"]): string | undefined {
  const metadata = applied?.["f:metadata"] as Record<string, unknown> | undefined;
  const annotations = metadata?.["f:annotations"] as Record<string, unknown> | undefined;
  return annotations?.[`f:${key}`] ? live.metadata.annotations?.[key] : undefined;
}
