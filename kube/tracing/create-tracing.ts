// Traces of one process by OpenTelemetry's own packages, over OTLP/HTTP. Loaded only where its standard variables name a collector: they cost a start 200 ms and 27 MB.
import type { Logger } from "pino";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Environment } from "./asks-for-traces.ts";
import { loadOpenTelemetry } from "./load-open-telemetry.ts";
import { createSampler } from "./sampler.ts";
import { createSpanStarter } from "./spans.ts";
import type { Tracing } from "./tracing.ts";

/** Spans beyond are dropped. */
const MAX_QUEUE = 4_096;
const BATCH = 512;
const SEND_AFTER_MS = 2_000;
const EXPORT_DEADLINE_MS = 10_000;
const CLOSE_DEADLINE_MS = 3_000;
/** Failures to export within this time are a single line of the log. */
const COMPLAINT_MS = 60_000;

export interface TracingOptions {
  env: Environment;
  /** Attributes of each span, beside those of OTEL_RESOURCE_ATTRIBUTES. */
  resource: Readonly<Record<string, string>>;
  log: Logger;
}

/** The exporter reads its address, headers and certificates from the variables of this process. @throws Error that names a variable with a wrong value */
export async function createTracing({ env, resource, log }: TracingOptions): Promise<Tracing> {
  const { sdk, exporter, resources, api } = await loadOpenTelemetry();
  const provider = new sdk.TracerProvider({
    resource: resources
      .resourceFromAttributes({ ...resource })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    sampler: createSampler({ sdk, api, env }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: withComplaints(new exporter.OTLPTraceExporter({ timeoutMillis: EXPORT_DEADLINE_MS }), log),
        maxQueueSize: MAX_QUEUE,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: SEND_AFTER_MS,
        exportTimeoutMillis: EXPORT_DEADLINE_MS,
      }),
    ],
  });
  return {
    begin: createSpanStarter(api, provider.getTracer("kube")),
    async close() {
      const deadline = Promise.withResolvers<void>();
      const timer = setTimeout(deadline.resolve, CLOSE_DEADLINE_MS);
      // The exporter has logged a failure to send.
      await Promise.race([provider.shutdown().catch(() => undefined), deadline.promise]);
      clearTimeout(timer);
    },
  };
}

/** Says that spans are lost, once a minute. The error of the exporter has no header and no body. */
function withComplaints(inner: SpanExporter, log: Logger): SpanExporter {
  let silentUntil = 0;
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        if (result.error && performance.now() >= silentUntil) {
          silentUntil = performance.now() + COMPLAINT_MS;
          log.warn({ problem: result.error.message, spans: spans.length }, "the collector of traces took no spans");
        }
        done(result);
      });
    },
    shutdown: () => inner.shutdown(),
    ...(inner.forceFlush && { forceFlush: () => inner.forceFlush!() }),
  };
}
