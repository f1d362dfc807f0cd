// Brokers that attack the platform: each is refused with a reason, none holds the event loop, and another broker works meanwhile.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { startChild, type Child } from "../../bench/child-process.ts";
import { eventually } from "../../eventually.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";
import { startLoopProbe } from "../event-loop/loop-probe.ts";
import { type ApiHarness, startApiHarness, to } from "./harness.ts";

/** Issue of services: the event loop never blocks for so long. */
const MAX_BLOCK_MS = 50;
let bench: ApiHarness;
let hostile: Child;
let good: TestBroker;

beforeAll(async () => {
  bench = await startApiHarness();
  hostile = startChild(join(import.meta.dirname, "../../service-broker/hostile-process.ts"), {});
  good = await startTestBroker();
});
afterAll(async () => {
  await hostile.stop();
  await good.close();
  await bench.testEnv.stop();
});

const credentials = { username: "broker", password: "secret" };
const bodyOf = (name: string, url: string): object => ({ name, url, authentication: { type: "basic", credentials } });

async function readyOf(name: string): Promise<{ status: string; reason: string; message?: string } | undefined> {
  const { items } = await bench.testEnv.kube.list(ServiceBroker, { namespace: SYSTEM_NAMESPACE });
  const found = items.find(({ spec }) => spec.name === name);
  return found?.status?.conditions?.find(({ type }) => type === "Ready");
}

test(
  "each is refused, the event loop is free, and a good broker makes an instance meanwhile",
  { timeout: 120_000 },
  async () => {
    const { port, names } = await hostile.request<{ port: number; names: string[] }>("address");
    // The first request of a kind compiles code, which is no attack.
    expect((await bench.job(await bench.call("POST", "/v3/service_brokers", bodyOf("good", good.url)))).state).toBe(
      "COMPLETE",
    );
    const probe = startLoopProbe();
    for (const name of names) {
      const { status } = await bench.call(
        "POST",
        "/v3/service_brokers",
        bodyOf(name, `http://127.0.0.1:${port}/${name}`),
      );
      expect(status).toBe(202);
    }
    expect(await orderAtGood()).toEqual(["COMPLETE", []]);
    const reasons: Record<string, string> = {};
    await eventually(async () => {
      for (const name of names) {
        const ready = await readyOf(name);
        expect([name, ready?.status]).toEqual([name, "False"]);
        reasons[name] = ready?.reason ?? "";
      }
    }, 90_000);
    const longest = probe.longest();
    probe.stop();
    console.log(
      `hostile brokers: ${JSON.stringify(reasons)}, the event loop was held for ${Math.round(longest)} ms at most`,
    );
    expect(reasons).toMatchObject({ many: "BrokerFailed", endless: "BrokerFailed", redirect: "BrokerRefused" });
    expect(longest).toBeLessThan(MAX_BLOCK_MS);
    expect((await bench.testEnv.kube.list(ServicePlan)).items).toHaveLength(2);
  },
);

async function orderAtGood(): Promise<unknown[]> {
  const { resources } = await bench.read("/v3/service_plans?service_broker_names=good&names=small");
  await bench.call("PATCH", `/v3/service_plans/${resources[0].guid}/visibility`, { type: "public" });
  const space = await bench.space(await bench.org("org"), "space");
  const relationships = { space: to(space), service_plan: to(resources[0].guid) };
  const answer = await bench.call("POST", "/v3/service_instances", { type: "managed", name: "db", relationships });
  const { state, errors } = await bench.job(answer);
  return [state, errors];
}
