// Which traces are kept, and how many a client can force.
import * as api from "@opentelemetry/api";
import * as sdk from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { createSampler, UNDECIDED } from "./sampler.ts";

const RARE = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" };
const traceId = "0af7651916cd43dd8448eb211c80319c";

function countKept(env: Record<string, string>, wish: boolean | undefined, requests: number): number {
  let time = 0;
  const sampler = createSampler({ sdk, api, env, now: () => time });
  const traceFlags = wish ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE;
  const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags, isRemote: true };
  const given = api.trace.setSpanContext(api.ROOT_CONTEXT, parent);
  const context = wish === undefined ? given.setValue(UNDECIDED, true) : given;
  const decide = (): boolean => {
    time += 1;
    const { decision } = sampler.shouldSample(context, traceId, "GET", api.SpanKind.SERVER, {}, []);
    return decision === api.SamplingDecision.RECORD_AND_SAMPLED;
  };
  return Array.from({ length: requests }, decide).filter(Boolean).length;
}

test.each([
  ["without a sampler, of a client that leaves it open", {}, undefined, 1_000],
  ["without a sampler, of a client that wants none", {}, false, 0],
  ["without a sampler, of a client that wants all", {}, true, 1_000],
  ["with a share of 0, of a client that leaves it open", RARE, undefined, 0],
  ["with a share of 0, of a client that wants all: 20, and 20 in the second", RARE, true, 40],
  ["with always_off, of a client that wants all", { OTEL_TRACES_SAMPLER: "always_off" }, true, 0],
])("%s", (_what, env, wish, kept) => {
  const counted = countKept(env, wish, 1_000);
  expect(counted).toBeGreaterThanOrEqual(kept - 1);
  expect(counted).toBeLessThanOrEqual(kept);
});

test.each([
  [{ OTEL_TRACES_SAMPLER: "jaeger_remote" }, /OTEL_TRACES_SAMPLER must be/],
  [{ OTEL_TRACES_SAMPLER_ARG: "2" }, /OTEL_TRACES_SAMPLER_ARG must be/],
])("wrong values: %o", (env, message) => expect(() => createSampler({ sdk, api, env })).toThrow(message));
