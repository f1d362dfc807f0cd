// Spans over OpenTelemetry's tracer, with the requests to the API server below them.
import type * as Api from "@opentelemetry/api";
import type { RequestRecord } from "../client/client.ts";
import { UNDECIDED } from "./sampler.ts";
import { formatTraceparent, type TraceContext } from "./trace-context.ts";
import type { Span, SpanEnd, SpanStart, Tracing } from "./tracing.ts";

/** Requests of one span that become spans of their own. */
const MAX_REQUESTS = 50;

export function createSpanStarter(api: typeof Api, tracer: Api.Tracer): Tracing["begin"] {
  return ({ name, parent, isRequest = false, attributes, startTime }: SpanStart) => {
    const context = toContext(api, parent);
    const kind = isRequest ? api.SpanKind.SERVER : api.SpanKind.INTERNAL;
    const span = tracer.startSpan(name, { kind, attributes, ...(startTime && { startTime }) }, context);
    return span.isRecording() ? new OpenSpan(api, tracer, span) : undefined;
  };
}

function toContext(api: typeof Api, parent: TraceContext | undefined): Api.Context {
  if (!parent) return api.ROOT_CONTEXT;
  const { traceId, spanId, sampled } = parent;
  const traceFlags = sampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE;
  const context = api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
  return sampled === undefined ? context.setValue(UNDECIDED, true) : context;
}

interface ObservedRequest {
  record: RequestRecord;
  endTime: number;
}

class OpenSpan implements Span {
  readonly context: TraceContext;
  readonly traceparent: string;
  readonly #api: typeof Api;
  readonly #tracer: Api.Tracer;
  readonly #span: Api.Span;
  readonly #requests: ObservedRequest[] = [];
  #isOpen = true;
  #hasWritten = false;

  constructor(api: typeof Api, tracer: Api.Tracer, span: Api.Span) {
    this.#api = api;
    this.#tracer = tracer;
    this.#span = span;
    const { traceId, spanId } = span.spanContext();
    this.context = { traceId, spanId, sampled: true };
    this.traceparent = formatTraceparent(this.context);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  observeRequest(record: RequestRecord): void {
    if (!this.#isOpen) return;
    if (isWrite(record)) this.#hasWritten = true;
    if (this.#requests.length < MAX_REQUESTS) this.#requests.push({ record, endTime: Date.now() });
  }

  end({ attributes = {}, isFailed = false, endTime }: SpanEnd = {}): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const context = this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, this.#span);
    for (const request of this.#requests) this.#sendRequest(request, context);
    this.#span.setAttributes(attributes);
    if (isFailed) this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    this.#span.end(endTime);
  }

  discard(): void {
    this.#isOpen = false;
  }

  #sendRequest({ record, endTime }: ObservedRequest, context: Api.Context): void {
    const { method, path, code, milliseconds, attempt } = record;
    const attributes = {
      "http.request.method": method,
      "url.path": path.split("?", 1)[0] ?? "",
      "http.response.status_code": code,
      ...(attempt > 1 && { "http.request.resend_count": attempt - 1 }),
    };
    const { SpanKind, SpanStatusCode } = this.#api;
    const start = { kind: SpanKind.CLIENT, startTime: endTime - milliseconds, attributes };
    const span = this.#tracer.startSpan(`kube-apiserver ${method}`, start, context);
    if (code === 0 || code >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
  }
}

/** Reviews are questions. */
function isWrite({ method, path, code }: RequestRecord): boolean {
  return method !== "GET" && code > 0 && code < 400 && !/\/apis\/auth(?:entication|orization)\.k8s\.io\//.test(path);
}
