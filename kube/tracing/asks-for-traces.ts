// Whether OpenTelemetry's standard variables name a collector of traces. Loads nothing of it.

export type Environment = Readonly<Record<string, string | undefined>>;

export function asksForTraces(env: Environment): boolean {
  if (env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none") return false;
  return Boolean(env["OTEL_EXPORTER_OTLP_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]);
}
