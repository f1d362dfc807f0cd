// Which traces are kept: as OTEL_TRACES_SAMPLER says for those that nobody has decided about, and a client's own wish within a limit, so that no client can fill the collector.
import type { Context } from "@opentelemetry/api";
import type { Sampler } from "@opentelemetry/sdk-trace";
import type { Environment } from "./asks-for-traces.ts";
import type { OpenTelemetry } from "./load-open-telemetry.ts";

/** Spans a second that are kept only because a client or an object says so. */
const WISHES_PER_SECOND = 20;

/** In a context whose remote parent has left the decision open, as B3 allows. */
export const UNDECIDED = Symbol.for("kube.tracing.undecided");

type SDK = Pick<OpenTelemetry, "sdk" | "api"> & { env: Environment; now?: () => number };

/** @throws Error for a sampler that is not known, or a share outside of 0 to 1 */
export function createSampler({ sdk, api, env, now = () => performance.now() }: SDK): Sampler {
  const own = createOwnSampler(sdk, env);
  const wishes = limitPerSecond(WISHES_PER_SECOND, now);
  const off = new sdk.AlwaysOffSampler();
  const asked: Sampler = {
    shouldSample: (...args) => {
      const decided = own.shouldSample(...args);
      if (decided.decision !== api.SamplingDecision.NOT_RECORD || !wishes()) return decided;
      return { decision: api.SamplingDecision.RECORD_AND_SAMPLED };
    },
    toString: () => "own sampler, else within a limit",
  };
  const byParent = new sdk.ParentBasedSampler({
    root: own,
    // A process of ours that was told of a span is as remote as a client, so the limit holds for objects, too.
    remoteParentSampled: env["OTEL_TRACES_SAMPLER"] === "always_off" ? off : asked,
    remoteParentNotSampled: off,
  });
  return {
    shouldSample: (context: Context, ...rest) =>
      (context.getValue(UNDECIDED) ? own : byParent).shouldSample(context, ...rest),
    toString: () => byParent.toString(),
  };
}

/** The sampler of OTEL_TRACES_SAMPLER; that of a parent is asked before it in any case. */
function createOwnSampler(sdk: OpenTelemetry["sdk"], env: Environment): Sampler {
  // In OpenTelemetry, an empty variable is one that is not set.
  const [name, share] = [env["OTEL_TRACES_SAMPLER"] || "always_on", Number(env["OTEL_TRACES_SAMPLER_ARG"] || "1")];
  if (!(share >= 0 && share <= 1)) throw new Error("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1");
  switch (name.replace(/^parentbased_/, "")) {
    case "always_on":
      return new sdk.AlwaysOnSampler();
    case "always_off":
      return new sdk.AlwaysOffSampler();
    case "traceidratio":
      return new sdk.TraceIdRatioBasedSampler(share);
    default:
      throw new Error(
        "OTEL_TRACES_SAMPLER must be always_on, always_off, traceidratio, or one of these after parentbased_",
      );
  }
}

function limitPerSecond(max: number, now: () => number): () => boolean {
  let [tokens, at] = [max, now()];
  return () => {
    const time = now();
    tokens = Math.min(max, tokens + ((time - at) / 1000) * max);
    at = time;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
