// How long single reads take for a developer: what cf asks most, one after the other on one connection, and reads that must not tell what is there.
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { median } from "../figure.ts";
import type { Replica } from "./bench-cluster.ts";

const ROUNDS = 5;
const ROUND_REQUESTS = 600;
const WARM_UP_REQUESTS = 1000;

export interface Reader {
  /** Milliseconds, and the status, of one GET. */
  get(path: string): Promise<{ ms: number; status: number; text: string }>;
}

export function readerOf({ url }: Replica, token: string): Reader {
  const headers = { authorization: `bearer ${token}` };
  return {
    async get(path) {
      const start = performance.now();
      const { statusCode, body } = await request(`${url}${path}`, { headers });
      const text = await body.text();
      return { ms: performance.now() - start, status: statusCode, text };
    },
  };
}

interface Listed {
  guid: string;
  name: string;
  relationships: { space: { data: { guid: string } } };
}

/** The 99th percentile of the usual reads in milliseconds: the middle one of several rounds. */
export async function measureP99(reader: Reader): Promise<number> {
  const { text } = await reader.get("/v3/apps?per_page=50");
  const apps = (JSON.parse(text) as { resources: Listed[] }).resources;
  const paths = apps.flatMap(({ guid, name, relationships }) => {
    const space = relationships.space.data.guid;
    return [
      `/v3/apps/${guid}`,
      `/v3/apps/${guid}/processes/web`,
      `/v3/apps?names=${name}&space_guids=${space}`,
      `/v3/apps?space_guids=${space}&order_by=name&per_page=50`,
      "/v3/apps?per_page=50",
    ];
  });
  const play = async (count: number): Promise<number[]> => {
    const times: number[] = [];
    for (let at = 0; at < count; at++) {
      const path = paths[at % paths.length] ?? "";
      const { ms, status } = await reader.get(path);
      if (status !== 200) throw new Error(`GET ${path} was answered ${status}`);
      times.push(ms);
    }
    return times.sort((a, b) => a - b);
  };
  await play(WARM_UP_REQUESTS);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const times = await play(ROUND_REQUESTS);
    rounds.push(times[Math.floor(times.length * 0.99)] ?? NaN);
    await delay(50);
  }
  return median(rounds);
}

/** How much longer a GET of something forbidden takes than of something absent, or the other way round: 1 is as fast. */
export async function compareForbidden(reader: Reader, forbidden: readonly string[]): Promise<number> {
  const absent = forbidden.map((_, at) => `/v3/apps/01234567-89ab-7def-8123-${String(at).padStart(12, "0")}`);
  const time = async (path: string): Promise<number> => {
    const { ms, status } = await reader.get(path);
    if (status !== 404) throw new Error(`GET ${path} was answered ${status}, not 404`);
    return ms;
  };
  const times = { forbidden: [] as number[], absent: [] as number[] };
  for (let round = 0; round < 20; round++) {
    for (const [at, guid] of forbidden.entries()) {
      times.forbidden.push(await time(`/v3/apps/${guid}`));
      times.absent.push(await time(absent[at] ?? ""));
    }
  }
  const ratio = median(times.forbidden) / median(times.absent);
  return Math.max(ratio, 1 / ratio);
}
