// Constant requests to one app through the router. What failed is kept in words, and which versions answered is counted.
import { request, Agent } from "undici";

export interface Load {
  /** Requests that were answered. */
  answered(): number;
  readonly failed: readonly string[];
  /** Answers by version since the last call. */
  takeVersions(): Record<string, number>;
  stop(): Promise<void>;
}

const DEADLINE_MS = 20_000;

/** Each of `clients` sends its next request when the last is answered. The app answers with its version. */
export function startLoad(port: number, host: string, clients: number): Load {
  const dispatcher = new Agent({ connections: clients, pipelining: 1 });
  const failed: string[] = [];
  let [answered, over] = [0, false];
  let versions: Record<string, number> = {};

  async function send(): Promise<void> {
    try {
      const answer = await request(`http://127.0.0.1:${port}/`, {
        dispatcher,
        headers: { host: `${host}:${port}` },
        headersTimeout: DEADLINE_MS,
        bodyTimeout: DEADLINE_MS,
      });
      const body = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${body.slice(0, 200)}`);
      answered++;
      versions[body] = (versions[body] ?? 0) + 1;
    } catch (error) {
      failed.push(`${new Date().toISOString()} ${String(error)} ${String((error as Error).cause ?? "")}`);
    }
  }
  async function run(): Promise<void> {
    while (!over) await send();
  }
  const running = Array.from({ length: clients }, run);
  return {
    answered: () => answered,
    failed,
    takeVersions() {
      const taken = versions;
      versions = {};
      return taken;
    },
    async stop() {
      over = true;
      await Promise.all(running);
      await dispatcher.close();
    },
  };
}
