// Loads OpenTelemetry's packages when traces are asked for.
import type * as Api from "@opentelemetry/api";
import type * as Resources from "@opentelemetry/resources";
import type * as SDK from "@opentelemetry/sdk-trace";
import type * as Exporter from "@opentelemetry/exporter-trace-otlp-http";

export interface OpenTelemetry {
  api: typeof Api;
  sdk: typeof SDK;
  exporter: typeof Exporter;
  resources: typeof Resources;
}

export async function loadOpenTelemetry(): Promise<OpenTelemetry> {
  const [api, sdk, exporter, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  return { api, sdk, exporter, resources };
}
