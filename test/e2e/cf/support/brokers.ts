// Service brokers for cases: each has one of its own, in this process, with its plans for everybody.
import { eventually } from "../../../eventually.ts";
import { startTestBroker, type TestBroker } from "../../../service-broker/test-broker.ts";
import type { Page } from "../../support/api.ts";
import { expect } from "vitest";
import type { CaseRun } from "./case.ts";
import { read, type Shown } from "./objects.ts";

const brokers = new Map<string, TestBroker>();

/** The case's broker. */
export function brokerOf({ name }: CaseRun): TestBroker {
  const broker = brokers.get(name);
  if (!broker) throw new Error(`${name} has no broker`);
  return broker;
}

export async function closeBrokers(): Promise<void> {
  await Promise.all([...brokers.values()].map((broker) => broker.close()));
  brokers.clear();
}

/** Starts a broker of the case's name, and lets everybody use its plans: `database`, `small` and `large`. */
export async function withBroker(run: CaseRun): Promise<void> {
  const { name, ground } = run;
  const broker = await startTestBroker({ host: ground.stage.hostAddress });
  brokers.set(name, broker);
  const { url, username, password } = broker;
  const authentication = { type: "basic", credentials: { username, password } };
  const made = await ground.api.admin.send("POST", "/v3/service_brokers", { name, url, authentication });
  expect([made.status, made.text]).toEqual([202, ""]);
  const plans = await eventually(async () => {
    const { resources } = await read<Page<Shown>>(run, `/v3/service_plans?service_broker_names=${name}`);
    expect(resources).toHaveLength(2);
    return resources;
  });
  for (const { guid } of plans)
    await ground.api.admin.call("POST", `/v3/service_plans/${guid}/visibility`, { type: "public" });
}

/** Also an instance of the case's name. */
export async function withInstance(run: CaseRun, plan = "small"): Promise<void> {
  await withBroker(run);
  await run.cf("developer", "create-service", "database", plan, run.name, "-b", run.name, "--wait");
}

/** Also a key `reader`. */
export async function withKey(run: CaseRun): Promise<void> {
  await withInstance(run);
  await run.cf("developer", "create-service-key", run.name, "reader", "--wait");
}
