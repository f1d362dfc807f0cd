// The log rate limit of an instance, and the rate at which it logs.

/** Returns whether a line fits in this second's `bytesPerSecond` (-1: no limit); calls `onLimit` at most once a second. */
export function rateLimit(
  bytesPerSecond: number,
  onLimit: (limit: number) => void,
  now: () => number = Date.now,
): (bytes: number) => boolean {
  if (bytesPerSecond < 0) return () => true;
  const bucket = { second: -1, used: 0, reported: -1 };
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

/** The line that stands for those over the limit, as in CF. */
export function rateLimitLine(bytesPerSecond: number): string {
  return `app instance exceeded log rate limit (${bytesPerSecond} bytes/sec)`;
}

/** Counts bytes; `take` returns bytes per second since the last call. */
export function createByteRate(now: () => number = Date.now): { add(bytes: number): void; take(): number } {
  let bytes = 0;
  let since = now();
  return {
    add: (more) => void (bytes += more),
    take() {
      const seconds = Math.max((now() - since) / 1000, 0.001);
      const rate = bytes / seconds;
      bytes = 0;
      since = now();
      return rate;
    },
  };
}
