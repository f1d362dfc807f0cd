// Logs an instance's stdout and stderr, within its log rate limit.
import type { SourceType } from "../../../telemetry/envelope.ts";
import { rateLimit, rateLimitLine } from "../../../telemetry/rate-limit.ts";
import type { InstanceLog } from "./runner-context.ts";
import type { InstanceFiles } from "./instance-record.ts";
import { tailFile } from "./tail-file.ts";

/** Whose output it is, and the limit on it; -1 means none. */
export interface OutputSource {
  source: SourceType;
  bytesPerSecond: number;
  /** Called with the length of each line that was logged. */
  onLogged?: (bytes: number) => void;
}

/** Starts reading both files. The returned function reads the rest and stops. */
export function followOutput(
  { source, bytesPerSecond, onLogged }: OutputSource,
  files: Pick<InstanceFiles, "stdout" | "stderr">,
  log: InstanceLog,
): () => void {
  const allow = rateLimit(bytesPerSecond, (limit) => log(source, rateLimitLine(limit), { stream: "ERR" }));
  const onDropped = (bytes: number): void =>
    log("CELL", `${bytes} bytes of output were dropped: the app writes faster than they can be read`, {
      stream: "ERR",
    });
  const tails = (["stdout", "stderr"] as const).map((name) =>
    tailFile({
      path: files[name],
      onLine: (line, time) => {
        if (!allow(line.length)) return;
        onLogged?.(line.length);
        log(source, line, { stream: name === "stdout" ? "OUT" : "ERR", ...(time !== undefined && { time }) });
      },
      onDropped,
    }),
  );
  return () => tails.forEach((tail) => tail.close());
}
