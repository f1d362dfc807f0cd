// Requests to one address at a constant rate, however long each takes: what fails is kept.
export interface SteadyLoad {
  /** Answered or failed so far. */
  requests(): number;
  /** In words, with the time. */
  readonly failures: readonly string[];
  /** Resolves when the last request is answered. */
  stop(): Promise<void>;
}

export interface SteadyLoadOptions {
  /** A request; its answer. */
  send: () => Promise<{ status: number; body?: string }>;
  everyMs?: number;
}

/** Everything but 200 is a failure. */
export function startSteadyLoad({ send, everyMs = 50 }: SteadyLoadOptions): SteadyLoad {
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  let count = 0;
  const fail = (what: string, since: number): unknown =>
    failures.push(`${new Date().toISOString()} after ${Math.round(performance.now() - since)} ms: ${what}`);
  const timer = setInterval(() => {
    const since = performance.now();
    const request = send()
      .then(
        ({ status, body = "" }) => status !== 200 && fail(`${status} ${body.slice(0, 200)}`, since),
        (error: unknown) => fail(`${String(error)} ${String((error as Error).cause ?? "")}`, since),
      )
      .then(() => {
        count++;
        open.delete(request);
      });
    open.add(request);
  }, everyMs);
  return {
    requests: () => count,
    failures,
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}
