// Log Cache's `name_filter`: a regular expression on the names of metrics. Lines have no name and always pass.
import type { AnyEnvelope } from "./envelope.ts";

const MAX_LENGTH = 100;
const MAX_QUANTIFIERS = 3;

/** The filter; undefined when the expression is invalid, or could take long: nested or many repetitions. */
export function parseNameFilter(text: string): ((envelope: AnyEnvelope) => AnyEnvelope | undefined) | undefined {
  if (text === "") return (envelope) => envelope;
  const quantifiers = text.match(/[*+?{]/g)?.length ?? 0;
  if (text.length > MAX_LENGTH || quantifiers > MAX_QUANTIFIERS || /\)[*+?{]/.test(text)) return undefined;
  try {
    const expression = new RegExp(text);
    return (envelope) => filterMetrics(envelope, (name) => expression.test(name));
  } catch (_error) {
    return undefined; // no regular expression
  }
}

function filterMetrics(envelope: AnyEnvelope, accepts: (name: string) => boolean): AnyEnvelope | undefined {
  if (!("gauge" in envelope)) return envelope;
  const metrics = Object.entries(envelope.gauge.metrics).filter(([name]) => accepts(name));
  return metrics.length === 0 ? undefined : { ...envelope, gauge: { metrics: Object.fromEntries(metrics) } };
}
