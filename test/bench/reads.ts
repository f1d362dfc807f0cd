// What reads cost at a thousand apps: requests to the API server, and pages against a bare handler that sends the same bytes.
import { Pool } from "undici";
import type { Child } from "./child.ts";
import { type Figure, figure, median } from "./figure.ts";
import type { Requests } from "./platform-process.ts";
import { APPS, type ThousandApps } from "./thousand-apps.ts";

const PAGE = "/v3/apps?per_page=50";
const CONNECTIONS = 4;
const ROUNDS = 9;
const ROUND_MS = 400;
const READS_COUNTED = 50;

/** All figures of reads. */
export async function measureReads(at: ThousandApps): Promise<Figure[]> {
  const headers = { authorization: `bearer ${at.token}` };
  const [ours, bare] = [new Pool(at.url, { connections: CONNECTIONS }), new Pool(await at.platform.ask<string>("bareUrl"), { connections: CONNECTIONS })];
  const read = (pool: Pool, path: string): Promise<string> => readText(pool, path, headers);
  try {
    const page = await read(ours, PAGE);
    await at.platform.ask("setBareBody", page);
    if ((await read(bare, PAGE)) !== page) throw new Error("the bare handler sends other bytes");
    return [...(await countRequests(at.platform, (path) => read(ours, path), page)), ...(await comparePages(at.platform, ours, bare, headers))];
  } finally {
    await Promise.all([ours.close(), bare.close()]);
  }
}

/** A body. @throws Error when the answer is not 200 */
async function readText(pool: Pool, path: string, headers: Record<string, string>): Promise<string> {
  const { statusCode, body } = await pool.request({ method: "GET", path, headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`GET ${path} was answered ${statusCode}: ${text.slice(0, 400)}`);
  return text;
}

/** Requests to the API server that reads cause, once the token has been reviewed. */
async function countRequests(platform: Child, read: (path: string) => Promise<string>, page: string): Promise<Figure[]> {
  const { pagination, resources } = JSON.parse(page) as { pagination: { total_results: number }; resources: { guid: string }[] };
  if (pagination.total_results !== APPS) throw new Error(`the developer sees ${pagination.total_results} apps of ${APPS}`);
  const cost = async (paths: readonly string[]): Promise<number> => {
    const before = await platform.ask<Requests>("requests");
    for (const path of paths) await read(path);
    return ((await platform.ask<Requests>("requests")).all - before.all) / paths.length;
  };
  const gets = resources.slice(0, READS_COUNTED).flatMap(({ guid }) => [`/v3/apps/${guid}`, `/v3/apps/${guid}/processes/web`, `/v3/apps/${guid}/env`]);
  const pages = ["apps", "processes", "routes", "spaces", "organizations", "domains", "packages", "droplets"].flatMap((kind) => [1, 2].map((number) => `/v3/${kind}?per_page=50&page=${number}`));
  return [
    figure("requests to the API server per GET", await cost(gets.filter((path) => !path.endsWith("/env"))), "requests", { max: 0 }),
    figure("requests to the API server per list page", await cost(pages), "requests", { max: 0 }),
  ];
}

/** One round: as many pages as fit into the time. */
interface Round {
  perSecond: number;
  cpuPerPage: number;
}

async function comparePages(platform: Child, ours: Pool, bare: Pool, headers: Record<string, string>): Promise<Figure[]> {
  let distinct = 0;
  const known = (): string => PAGE;
  const fresh = (): string => `${PAGE}&created_ats[gt]=2001-01-01T00:00:00Z&created_ats[lt]=${2100 + (distinct++ % 7000)}-01-01T00:00:00Z`;
  const round = (pool: Pool, path: () => string): Promise<Round> => playRound(platform, pool, path, headers);
  for (const [pool, path] of [[ours, known], [bare, known], [ours, fresh]] as const) await round(pool, path);
  const rounds: { ours: Round; bare: Round; fresh: Round }[] = [];
  for (let turn = 0; turn < ROUNDS; turn++) rounds.push({ ours: await round(ours, known), bare: await round(bare, known), fresh: await round(ours, fresh) });
  const ratio = (of: (one: (typeof rounds)[number]) => number): number => median(rounds.map(of));
  const what = `page of 50 at ${APPS} apps`;
  return [
    figure(`${what}, against a bare Express handler: pages per second`, ratio((one) => one.ours.perSecond / one.bare.perSecond), "ratio", { min: 0.5 }),
    figure(`${what}, against a bare Express handler: processor time (bare / ours)`, ratio((one) => one.bare.cpuPerPage / one.ours.cpuPerPage), "ratio", { min: 0.5 }),
    figure(`${what}, a filter never asked for before: pages per second`, ratio((one) => one.fresh.perSecond / one.bare.perSecond), "ratio"),
  ];
}

async function playRound(platform: Child, pool: Pool, path: () => string, headers: Record<string, string>): Promise<Round> {
  const cpuBefore = await platform.ask<number>("cpu");
  const start = performance.now();
  let pages = 0;
  const one = async (): Promise<void> => {
    while (performance.now() - start < ROUND_MS) {
      const { statusCode, body } = await pool.request({ method: "GET", path: path(), headers });
      // Bytes are received and not looked at: this process is not what is measured.
      await body.dump({ limit: Number.MAX_SAFE_INTEGER });
      if (statusCode !== 200) throw new Error(`GET ${path()} was answered ${statusCode}`);
      pages++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  const seconds = (performance.now() - start) / 1000;
  return { perSecond: pages / seconds, cpuPerPage: ((await platform.ask<number>("cpu")) - cpuBefore) / pages };
}
