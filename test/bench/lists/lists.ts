// Pages of lists at ten thousand apps: against a bare handler that sends the same bytes, quiet and while apps change, and under filters that nobody asked for before.
import { join } from "node:path";
import { request } from "undici";
import { type Child, startChild } from "../child-process.ts";
import { type Figure, figure, median } from "../figure.ts";
import { rawClient, type RawClient } from "../raw-client.ts";
import { APPS } from "./objects.ts";

const KINDS = ["apps", "routes", "processes", "roles", "audit_events", "tasks"];
const CHANGES_PER_SECOND = 20;
const CONNECTIONS = 4;
const ROUNDS = 7;
const ROUND_MS = 300;
const WARM_UP_MS = 1500;
const PAGES = APPS / 50;
/** A token as long as that of a service account, since every request pays for its length. */
const HEADERS = { authorization: `bearer ${toToken({ alg: "RS256", kid: "k".repeat(43) }, { sub: "c".repeat(320) })}` };

function toToken(...parts: readonly object[]): string {
  return [...parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")), "s".repeat(342)].join(".");
}

/** Processor time of a page, microseconds, by what is asked. */
type Costs = Record<string, number>;

interface Bench {
  child: Child;
  ours: RawClient[];
  bare: RawClient[];
}

export async function measureLists(): Promise<Figure[]> {
  const child = startChild(join(import.meta.dirname, "api-process.ts"), {});
  const clients: RawClient[] = [];
  try {
    const url = await child.request<string>("url");
    const open = async (to: string): Promise<RawClient[]> => {
      const opened = await Promise.all(Array.from({ length: CONNECTIONS }, () => rawClient(to, HEADERS)));
      clients.push(...opened);
      return opened;
    };
    const bench = { child, ours: await open(url), bare: await open(await child.request<string>("bareUrl")) };
    const figures: Figure[] = [];
    for (const kind of KINDS) figures.push(await compareToBare(bench, url, kind));
    return [...figures, ...(await compareToQuiet(bench, url)), await costOfNewFilter(bench)];
  } finally {
    for (const client of clients) client.close();
    await child.stop();
  }
}

/** The same page again and again, and the bare handler with the same bytes. */
async function compareToBare(bench: Bench, url: string, kind: string): Promise<Figure> {
  const page = (): string => `/v3/${kind}?per_page=50`;
  const { statusCode, body } = await request(`${url}${page()}`, { headers: HEADERS });
  const text = await body.text();
  const total = (JSON.parse(text) as { pagination?: { total_results: number } }).pagination?.total_results ?? 0;
  if (statusCode !== 200 || total < APPS) throw new Error(`${kind}: ${statusCode}, ${total} of them`);
  await bench.child.request("setBareBody", text);
  const turns = await inTurns({
    ours: (ms) => costOf(bench, bench.ours, page, ms),
    bare: (ms) => costOf(bench, bench.bare, page, ms),
  });
  return figure(
    `page of 50 ${kind} at ${APPS} apps, against a bare Express handler, by processor time`,
    median(turns.map(({ ours = NaN, bare = NaN }) => bare / ours)),
    "ratio",
    { min: 0.6 },
  );
}

/** The same reads while nothing changes, and while apps change. What the changes alone cost the process is counted in. */
async function compareToQuiet(bench: Bench, url: string): Promise<Figure[]> {
  const { body } = await request(`${url}/v3/apps?per_page=1`, { headers: HEADERS });
  const { resources } = (await body.json()) as { resources: { guid: string }[] };
  const reads: Record<string, () => string> = {
    "a GET of an app": () => `/v3/apps/${resources[0]?.guid ?? ""}`,
    "the first page of apps": () => "/v3/apps?per_page=50",
    "any page of apps": pagesOf("apps"),
    "any page of processes": pagesOf("processes"),
    "any page of routes": pagesOf("routes"),
  };
  const figures: Figure[] = [];
  for (const kind of ["apps", "processes", "routes"]) await askAll(bench, kind);
  for (const [what, path] of Object.entries(reads)) {
    const turns = await inTurns({
      quiet: (ms) => changing(bench, 0, () => costOf(bench, bench.ours, path, ms)),
      changing: (ms) => changing(bench, CHANGES_PER_SECOND, () => costOf(bench, bench.ours, path, ms)),
    });
    figures.push(
      figure(
        `${what} while ${CHANGES_PER_SECOND} apps change each second, against quiet, by processor time`,
        median(turns.map(({ quiet = NaN, changing: busy = NaN }) => quiet / busy)),
        "ratio",
        { min: 0.85 },
      ),
    );
  }
  return figures;
}

async function changing<T>({ child }: Bench, perSecond: number, work: () => Promise<T>): Promise<T> {
  await child.request("setChangesPerSecond", perSecond);
  try {
    return await work();
  } finally {
    await child.request("setChangesPerSecond", 0);
  }
}

async function costOfNewFilter(bench: Bench): Promise<Figure> {
  let asked = 0;
  const fresh = (): string =>
    `/v3/apps?per_page=50&created_ats[gt]=2001-01-01T00:00:00Z&created_ats[lt]=${2100 + (asked++ % 7000)}-01-01T00:00:00Z`;
  const turns = await inTurns({ fresh: (ms) => costOf(bench, bench.ours, fresh, ms) });
  return figure(
    `a page of apps under a filter never asked for before, at ${APPS} apps: processor time`,
    median(turns.map(({ fresh: cost = NaN }) => cost / 1000)),
    "ms",
    { max: 2 },
  );
}

/** The pages of a list, one after the other, again and again. */
function pagesOf(kind: string): () => string {
  let asked = 0;
  return () => `/v3/${kind}?per_page=50&page=${(asked++ % PAGES) + 1}`;
}

/** Each page twice, so that none is made for the first time while it is measured, however busy the machine. */
async function askAll({ ours }: Bench, kind: string): Promise<void> {
  const page = pagesOf(kind);
  let left = 2 * PAGES;
  const play = async (client: RawClient): Promise<void> => {
    while (left-- > 0) await client.get(page());
  };
  await Promise.all(ours.map(play));
}

/** Each measurement in its turn, so that a busy moment of the machine hits all. */
async function inTurns(measurements: Record<string, (ms: number) => Promise<number>>): Promise<Costs[]> {
  const turn = async (ms: number): Promise<Costs> => {
    const costs: Costs = {};
    for (const [name, measure] of Object.entries(measurements)) costs[name] = await measure(ms);
    return costs;
  };
  await turn(WARM_UP_MS);
  const turns: Costs[] = [];
  for (let at = 0; at < ROUNDS; at++) turns.push(await turn(ROUND_MS));
  return turns;
}

async function costOf(
  { child }: Bench,
  clients: readonly RawClient[],
  path: () => string,
  ms: number,
): Promise<number> {
  const before = await child.request<number>("cpu");
  const start = performance.now();
  let pages = 0;
  const play = async (client: RawClient): Promise<void> => {
    for (; performance.now() - start < ms; pages++) await client.get(path());
  };
  await Promise.all(clients.map(play));
  return ((await child.request<number>("cpu")) - before) / pages;
}
