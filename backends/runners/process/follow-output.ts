// Logs an instance's stdout and stderr, within its log rate limit.
import type { SourceType } from "../../../telemetry/envelope.ts";
import type { InstanceLog } from "./runner-context.ts";
import type { InstanceFiles } from "./instance-record.ts";
import { tailFile } from "./tail-file.ts";

/** Whose output it is, and the limit on it; -1 means none. */
export interface OutputSource {
  source: SourceType;
  bytesPerSecond: number;
}

/** Starts reading both files. The returned function reads the rest and stops. */
export function followOutput(
  { source, bytesPerSecond }: OutputSource,
  files: Pick<InstanceFiles, "stdout" | "stderr">,
  log: InstanceLog,
): () => void {
  const allow = rateLimit(bytesPerSecond, (limit) =>
    log(source, `app instance exceeded log rate limit (${limit} bytes/sec)`, { stream: "ERR" }),
  );
  const onDropped = (bytes: number): void =>
    log("CELL", `${bytes} bytes of output were dropped: the app writes faster than they can be read`, {
      stream: "ERR",
    });
  const tails = (["stdout", "stderr"] as const).map((name) =>
    tailFile({
      path: files[name],
      onLine: (line, time) => {
        if (allow(line.length))
          log(source, line, { stream: name === "stdout" ? "OUT" : "ERR", ...(time !== undefined && { time }) });
      },
      onDropped,
    }),
  );
  return () => tails.forEach((tail) => tail.close());
}

/** Returns whether a line fits in this second's `bytesPerSecond` (-1: no limit); calls `onLimit` at most once a second. */
export function rateLimit(
  bytesPerSecond: number,
  onLimit: (limit: number) => void,
  now: () => number = Date.now,
): (bytes: number) => boolean {
  if (bytesPerSecond < 0) return () => true;
  const bucket = { second: 0, used: 0, reported: 0 };
  return (bytes) => {
    const second = Math.floor(now() / 1000);
    if (second !== bucket.second) Object.assign(bucket, { second, used: 0 });
    bucket.used += bytes;
    if (bucket.used <= bytesPerSecond) return true;
    if (bucket.reported !== second) onLimit(bytesPerSecond);
    bucket.reported = second;
    return false;
  };
}
