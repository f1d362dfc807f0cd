// Requests through the local router: against HAProxy, and against the least that a proxy in Node can be, in front of the same app.
import { join } from "node:path";
import { startChild } from "../child-process.ts";
import { type Figure, figure, median } from "../figure.ts";
import { rawClient, type RawClient } from "../raw-client.ts";
import { startHAProxy } from "./haproxy.ts";
import type { RouterProcessOptions } from "./router-process.ts";

const HOST = "localhost";
const CONNECTIONS = 32;
const ROUNDS = 7;
const ROUND_MS = 500;
const WARM_UP_MS = 2000;

interface Proxy {
  name: "router" | "bare" | "haproxy";
  clients: RawClient[];
  cpu(): Promise<number>;
}

/** Result of a proxy in its turn: microseconds of processor time for a request, requests a second. */
interface Score {
  cost: number;
  perSecond: number;
}
type Turn = Partial<Record<Proxy["name"], Score>>;

export async function measureRouter(): Promise<Figure[]> {
  const disposables: (() => unknown)[] = [];
  try {
    const proxies = await startProxies(disposables);
    await playTurn(proxies, WARM_UP_MS);
    const turns: Turn[] = [];
    for (let at = 0; at < ROUNDS; at++) turns.push(await playTurn(proxies, ROUND_MS));
    const ratio = (of: (turn: Turn) => number): number => median(turns.map(of));
    const what = `requests through the local router, ${CONNECTIONS} connections, against`;
    const hasHAProxy = proxies.some(({ name }) => name === "haproxy");
    if (!hasHAProxy) process.stderr.write("router: no HAProxy here, so it is not compared with (HAPROXY names one)\n");
    const perSecond = (turn: Turn, name: Proxy["name"]): number => turn[name]?.perSecond ?? NaN;
    const cost = (turn: Turn, name: Proxy["name"]): number => turn[name]?.cost ?? NaN;
    return [
      ...(hasHAProxy
        ? [
            figure(
              `${what} HAProxy: requests a second`,
              ratio((turn) => perSecond(turn, "router") / perSecond(turn, "haproxy")),
              "ratio",
              { min: 0.25 },
            ),
            figure(
              `${what} HAProxy: by processor time`,
              ratio((turn) => cost(turn, "haproxy") / cost(turn, "router")),
              "ratio",
            ),
          ]
        : []),
      figure(
        `${what} a bare proxy of node:http: by processor time`,
        ratio((turn) => cost(turn, "bare") / cost(turn, "router")),
        "ratio",
        { min: 0.8 },
      ),
      figure(
        "processor time of the local router for a request",
        ratio((turn) => cost(turn, "router")),
        "µs",
      ),
    ];
  } finally {
    for (const end of disposables.toReversed()) await end();
  }
}

async function startProxies(disposables: (() => unknown)[]): Promise<Proxy[]> {
  const app = startChild(join(import.meta.dirname, "app-process.ts"), {});
  disposables.push(() => app.stop());
  const appPort = await app.request<number>("port");
  const node = startChild(join(import.meta.dirname, "router-process.ts"), {
    host: HOST,
    appPort,
  } satisfies RouterProcessOptions);
  disposables.push(() => node.stop());
  const [router = "", bare = ""] = await node.request<string[]>("urls");
  const haproxy = await startHAProxy(HOST, appPort);
  if (haproxy) disposables.push(() => haproxy.stop());
  const open = async (url: string): Promise<RawClient[]> => {
    const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => rawClient(url, {})));
    disposables.push(() => clients.forEach((client) => client.close()));
    return clients;
  };
  const cpu = (): Promise<number> => node.request<number>("cpu");
  return [
    { name: "router", clients: await open(router), cpu },
    { name: "bare", clients: await open(bare), cpu },
    ...(haproxy
      ? [{ name: "haproxy" as const, clients: await open(haproxy.url), cpu: () => Promise.resolve(haproxy.cpu()) }]
      : []),
  ];
}

/** Each proxy in its turn. */
async function playTurn(proxies: readonly Proxy[], ms: number): Promise<Turn> {
  const turn: Turn = {};
  for (const { name, clients, cpu } of proxies) {
    const before = await cpu();
    const start = performance.now();
    let requests = 0;
    const play = async (client: RawClient): Promise<void> => {
      for (; performance.now() - start < ms; requests++) await client.get("/");
    };
    await Promise.all(clients.map(play));
    const seconds = (performance.now() - start) / 1000;
    turn[name] = { cost: ((await cpu()) - before) / requests, perSecond: requests / seconds };
  }
  return turn;
}
