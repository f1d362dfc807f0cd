// Each of three replicas is restarted in turn under constant traffic: no request fails, and none is answered with less than was answered before.
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiAt, guidOf, tokenOf, type Api, type Named } from "./support/api.ts";
import { startLoadBalancer, type LoadBalancer, type BalancerBackend } from "./support/load-balancer.ts";
import { eventually } from "../eventually.ts";
import { startReplica, type ReplicaProcess } from "./support/replica-process.ts";
import { startTraffic } from "./rolling/traffic.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const CLIENTS = 3;
/** Between two restarts at least. */
const REQUESTS = 60;
const PROBE_MS = 50;
/** A user of the stage. */
const GUEST = "developer";

/** A replica as a Service sees it: it gets requests while its /readyz says yes. */
interface Served extends BalancerBackend {
  process: ReplicaProcess;
}

describe("a rolling restart of the platform", () => {
  let stage: TestPlatform;
  let balancer: LoadBalancer;
  const served: Served[] = [];
  const doors: BalancerBackend[] = [];
  const over = new AbortController();
  /** Logs of the replicas, to find out why a request failed. */
  const logs: (() => string)[] = [];

  async function add(): Promise<Served> {
    const process = await startReplica(stage, {
      operations: "api,controllers",
      graceSeconds: 1,
      publicURL: `http://localhost:${balancer.port}`,
    });
    const one: Served = { process, port: process.port, up: false };
    logs.push(process.log);
    served.push(one);
    doors.push(one);
    void probe(one, over.signal);
    return one;
  }

  async function isUp(one: Served): Promise<void> {
    await eventually(() => expect(one.up).toBe(true));
  }

  beforeAll(async () => {
    stage = await startTestPlatform();
    balancer = await startLoadBalancer(doors);
    for (let at = 0; at < 3; at++) await isUp(await add());
  });
  afterAll(async () => {
    over.abort();
    await balancer?.close();
    await Promise.all(served.map(({ process }) => process.stop()));
    await stage?.stop();
  });

  test("fails no request and shows nothing stale", async () => {
    const url = `http://localhost:${balancer.port}`;
    const api = apiAt(url, tokenOf(stage, "admin"));
    const space = await guidOf(stage, "spaces.cupola.dev/dev", "local");
    const closed = await makeClosed(api);
    const traffic = startTraffic({
      api,
      guest: apiAt(url, tokenOf(stage, GUEST)),
      guestName: GUEST,
      space,
      closed,
      clients: CLIENTS,
    });
    for (const old of [...served]) {
      const before = traffic.requests();
      await eventually(() => expect(traffic.requests()).toBeGreaterThan(before + REQUESTS));
      const young = await add();
      await isUp(young);
      expect(await old.process.stop()).toBe(0);
      served.splice(served.indexOf(old), 1);
    }
    const before = traffic.requests();
    await eventually(() => expect(traffic.requests()).toBeGreaterThan(before + REQUESTS));
    await traffic.stop();
    if (traffic.failed.length + traffic.stale.length > 0)
      console.error(logs.map((log, at) => `replica ${at}\n${log()}`).join("\n"));
    console.log(
      `rolling restart: ${traffic.requests()} requests, ${traffic.failed.length} failed, ${traffic.stale.length} stale`,
    );
    expect({ failed: traffic.failed, stale: traffic.stale }).toEqual({ failed: [], stale: [] });
  }, 300_000);
});

/** A space of another org with an app that the guest may see only with a role in that space. */
async function makeClosed(api: Api): Promise<{ space: string; app: string }> {
  const to = (guid: string): object => ({ data: { guid } });
  const org = await api.call<Named>("POST", "/v3/organizations", { name: "closed" });
  const space = await api.call<Named>("POST", "/v3/spaces", {
    name: "closed",
    relationships: { organization: to(org.guid) },
  });
  await api.call("POST", "/v3/roles", {
    type: "organization_user",
    relationships: { user: to(GUEST), organization: to(org.guid) },
  });
  const app = await api.call<Named>("POST", "/v3/apps", { name: "inside", relationships: { space: to(space.guid) } });
  return { space: space.guid, app: app.guid };
}

/** Asks again and again, as a kubelet does; `up` is what it was told last. */
async function probe(one: Served, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const { statusCode, body } = await request(`${one.process.url}/readyz`, { headersTimeout: 2000, reset: true });
      await body.dump();
      one.up = statusCode === 200;
    } catch {
      one.up = false; // it does not listen any more
    }
    await delay(PROBE_MS);
  }
}
