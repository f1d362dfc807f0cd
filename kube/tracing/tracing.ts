// Spans for OpenTelemetry: what a process that makes traces does. create-tracing.ts implements it; without it nothing of OpenTelemetry is loaded.
import type { RequestRecord } from "../client/client.ts";
import type { TraceContext } from "./trace-context.ts";

/** Names, counts and codes. Never a credential, a header, a body, a query or a message. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

export interface SpanStart {
  name: string;
  /** The span that it belongs to; without one it begins a trace. */
  parent?: TraceContext | undefined;
  /** Whether a request of another program caused it. */
  isRequest?: boolean;
  attributes: SpanAttributes;
  /** Now when left out. */
  startTime?: Date;
}

export interface SpanEnd {
  attributes?: SpanAttributes;
  isFailed?: boolean;
  /** Now when left out. */
  endTime?: Date;
}

export interface Span {
  /** For objects and requests that belong to it. */
  readonly traceparent: string;
  readonly context: TraceContext;
  readonly isOpen: boolean;
  /** Whether one of its requests to the API server was a write. */
  readonly hasWritten: boolean;
  /** Remembers a request to the API server, which becomes a span below this one. */
  observeRequest(record: RequestRecord): void;
  end(end?: SpanEnd): void;
  /** Ends it without a trace of it. */
  discard(): void;
}

export interface Tracing {
  /** Undefined where the sampler keeps no spans of the trace. */
  begin(start: SpanStart): Span | undefined;
  /** Sends what waits, within some seconds. */
  close(): Promise<void>;
}
