// Holds a container's output to its log rate limit, by the times of its lines: read again, the same lines are left out.
import { rateLimit, rateLimitLine } from "../rate-limit.ts";
import type { ContainerLine } from "./container-log.ts";

/** Whether the line is logged. */
export type LineFilter = (line: ContainerLine) => boolean;

/** `limitOf` may change while it is not known; -1 means none. `say` logs the line that stands for those left out. */
export function createLineFilter(limitOf: () => number, say: (line: ContainerLine) => void): LineFilter {
  let limit = -1;
  let time = 0n;
  let allow = (_bytes: number): boolean => true;
  return (line) => {
    if (!line.isOutput) return true;
    time = line.time;
    const wanted = limitOf();
    if (wanted !== limit)
      allow = rateLimit(
        wanted,
        (bytes) => say({ time, message: rateLimitLine(bytes), stream: "ERR" }),
        () => Number(time / 1_000_000n),
      );
    limit = wanted;
    return allow(line.message.length);
  };
}
