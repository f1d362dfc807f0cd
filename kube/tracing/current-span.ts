// The span under way in which the current code runs: a request of a person, or a reconcile. Costs nothing where no process makes spans.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Span } from "./tracing.ts";

const spans = new AsyncLocalStorage<Span>();

export function withSpan<T>(span: Span, work: () => T): T {
  return spans.run(span, work);
}

/** Undefined outside of a span, and in work that has outlived it. */
export function currentSpan(): Span | undefined {
  const span = spans.getStore();
  return span?.isOpen ? span : undefined;
}

/** The text for objects that the current span creates. */
export function currentTraceparent(): string | undefined {
  return currentSpan()?.traceparent;
}
