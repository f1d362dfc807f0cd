// The span of a request to the CF API. It continues the client's trace, and what the request creates carries it on.
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { withSpan } from "../../kube/tracing/current-span.ts";
import type { Tracing } from "../../kube/tracing/tracing.ts";
import type { Endpoint } from "./endpoint.ts";
import { answeredStatus } from "./request-log.ts";
import { traceContextOf } from "./trace-id.ts";

interface Exchange {
  request: { headers: IncomingHttpHeaders };
  response: ServerResponse;
}

/** The span ends when the response is closed. Its attributes have no value that the client sent. */
export function withRequestSpan<T>(
  tracing: Tracing | undefined,
  { method, path }: Pick<Endpoint, "method" | "path">,
  { request, response }: Exchange,
  work: () => T,
): T {
  const span = tracing?.begin({
    name: `${method} ${path}`,
    parent: traceContextOf(request.headers),
    isRequest: true,
    attributes: { "http.request.method": method, "http.route": path },
  });
  if (!span) return work();
  response.once("close", () => {
    const status = answeredStatus(response);
    span.end({ attributes: { "http.response.status_code": status }, isFailed: status >= 500 });
  });
  return withSpan(span, work);
}
