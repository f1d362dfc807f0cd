// Cost of reads: requests to the API server, and pages against a bare handler that sends the same bytes.
import { request } from "undici";
import type { Child } from "./child-process.ts";
import { type Figure, figure, median } from "./figure.ts";
import type { Requests } from "./platform-process.ts";
import { rawClient, type RawClient } from "./raw-client.ts";

/** A platform that is asked. */
export interface ReadTarget {
  platform: Child;
  /** The CF API. */
  url: string;
  /** Token of a space developer, whose rights are RoleBindings, as most callers' are. */
  token: string;
  /** So many apps does this developer see. */
  apps: number;
}

const PAGE = "/v3/apps?per_page=50";
const CONNECTIONS = 4;
const ROUNDS = 9;
const ROUND_MS = 400;
/** The compiler has done its best by then, for each of the handlers. */
const WARM_UP_MS = 3000;
const READS_COUNTED = 50;

/** All figures of reads. */
export async function measureReads(at: ReadTarget): Promise<Figure[]> {
  const headers = { authorization: `bearer ${at.token}` };
  const bareUrl = await at.platform.request<string>("bareUrl");
  const read = (url: string, path: string): Promise<string> => readText(`${url}${path}`, headers);
  const page = await read(at.url, PAGE);
  // Links carry the Host they were asked at: the bytes are those that the measured requests get.
  await at.platform.request("setBareBody", page);
  if ((await read(bareUrl, PAGE)) !== page) throw new Error("the bare handler sends other bytes");
  return [
    ...(await countRequests(at, (path) => read(at.url, path), page)),
    ...(await comparePages(at, bareUrl, headers)),
  ];
}

/** A body. @throws Error when the answer is not 200 */
async function readText(url: string, headers: Record<string, string>): Promise<string> {
  const { statusCode, body } = await request(url, { headers });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`GET ${url} was answered ${statusCode}: ${text.slice(0, 400)}`);
  return text;
}

/** Requests to the API server that reads cause, once the token has been reviewed. */
async function countRequests(
  { platform, apps }: ReadTarget,
  read: (path: string) => Promise<string>,
  page: string,
): Promise<Figure[]> {
  const { pagination, resources } = JSON.parse(page) as {
    pagination: { total_results: number };
    resources: { guid: string }[];
  };
  if (pagination.total_results !== apps)
    throw new Error(`the developer sees ${pagination.total_results} apps of ${apps}`);
  const cost = async (paths: readonly string[]): Promise<number> => {
    const before = await platform.request<Requests>("requests");
    for (const path of paths) await read(path);
    const after = await platform.request<Requests>("requests");
    // A Lease is renewed every few seconds, whoever asks.
    return (after.all - before.all - (after.leases - before.leases)) / paths.length;
  };
  const gets = resources
    .slice(0, READS_COUNTED)
    .flatMap(({ guid }) => [`/v3/apps/${guid}`, `/v3/apps/${guid}/processes/web`]);
  const pages = ["apps", "processes", "routes", "spaces", "organizations", "domains", "packages", "droplets"].flatMap(
    (kind) => [1, 2].map((number) => `/v3/${kind}?per_page=50&page=${number}`),
  );
  return [
    figure("requests to the API server per GET", await cost(gets), "requests", { max: 0 }),
    figure("requests to the API server per list page", await cost(pages), "requests", { max: 0 }),
  ];
}

/** A round: as many pages as fit into the time. */
interface Round {
  perSecond: number;
  cpuPerPage: number;
}

async function comparePages(
  { platform, url, apps }: ReadTarget,
  bareUrl: string,
  headers: Record<string, string>,
): Promise<Figure[]> {
  const clientsOf = (to: string): Promise<RawClient[]> =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => rawClient(to, headers)));
  const [ours, bare] = [await clientsOf(url), await clientsOf(bareUrl)];
  let distinct = 0;
  const known = (): string => PAGE;
  const fresh = (): string =>
    `${PAGE}&created_ats[gt]=2001-01-01T00:00:00Z&created_ats[lt]=${2100 + (distinct++ % 7000)}-01-01T00:00:00Z`;
  const turn = async (ms: number): Promise<Turn> => ({
    ours: await playRound(platform, ours, known, ms),
    bare: await playRound(platform, bare, known, ms),
    fresh: await playRound(platform, ours, fresh, ms),
  });
  await turn(WARM_UP_MS);
  const turns: Turn[] = [];
  for (let at = 0; at < ROUNDS; at++) turns.push(await turn(ROUND_MS));
  for (const client of [...ours, ...bare]) client.close();
  const ratio = (of: (one: Turn) => number): number => median(turns.map(of));
  const what = `page of 50 at ${apps} apps`;
  return [
    figure(
      `${what}, against a bare Express handler: pages per second`,
      ratio((one) => one.ours.perSecond / one.bare.perSecond),
      "ratio",
      { min: 0.5 },
    ),
    figure(
      `${what}, against a bare Express handler: pages per second of processor time`,
      ratio((one) => one.bare.cpuPerPage / one.ours.cpuPerPage),
      "ratio",
    ),
    figure(
      `${what}, a filter never asked for before: pages per second`,
      ratio((one) => one.fresh.perSecond / one.bare.perSecond),
      "ratio",
    ),
  ];
}

type Turn = Record<"ours" | "bare" | "fresh", Round>;

async function playRound(
  platform: Child,
  clients: readonly RawClient[],
  path: () => string,
  ms: number,
): Promise<Round> {
  const cpuBefore = await platform.request<number>("cpu");
  const start = performance.now();
  let pages = 0;
  const play = async (client: RawClient): Promise<void> => {
    for (; performance.now() - start < ms; pages++) await client.get(path());
  };
  await Promise.all(clients.map(play));
  const seconds = (performance.now() - start) / 1000;
  return { perSecond: pages / seconds, cpuPerPage: ((await platform.request<number>("cpu")) - cpuBefore) / pages };
}
