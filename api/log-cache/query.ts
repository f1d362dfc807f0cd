// The parameters of Log Cache's reads.
import { type EnvelopeType, type LogQuery, maxReadLimit } from "../../telemetry/envelope.ts";
import { rawQuery } from "../http/query.ts";

const integer = /^-?\d{1,19}$/;

/** Log Cache's parameters. Values that are not numbers are ignored, because old clients send them. */
export function toLogQuery(url: string): LogQuery & { limit: number; types: EnvelopeType[] } {
  const raw = rawQuery(url);
  const types = new URLSearchParams(url.split("?")[1])
    .getAll("envelope_types")
    .flatMap((value) => value.split(","))
    .map((type) => type.toUpperCase());
  const { start_time: start = "", end_time: end = "", limit = "" } = raw;
  return {
    ...(integer.test(start) && { start: BigInt(start) }),
    ...(integer.test(end) && { end: BigInt(end) }),
    limit: /^\d{1,6}$/.test(limit) ? Math.min(Math.max(Number(limit), 1), maxReadLimit) : 100,
    descending: raw["descending"] === "true",
    types: types.filter(isEnvelopeType),
  };
}

function isEnvelopeType(text: string): text is EnvelopeType {
  return ["LOG", "COUNTER", "GAUGE", "TIMER", "EVENT"].includes(text);
}
