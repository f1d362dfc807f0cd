// `cup services enable` and `disable`: databases of this machine in the marketplace of the laptop's platform.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { HERE_LABEL } from "../../crds/cluster/local-cluster.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap } from "../../kube/api/builtin.ts";
import { createClient } from "../../kube/client/create-client.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { ignoreNotFound } from "../../kube/client/ignore-gone.ts";
import { loadKubeconfig } from "../../kube/client/kubeconfig.ts";
import { DATABASES, readBrokerAccess, type Database } from "../../local/database-broker.ts";
import { hereServiceName } from "../../local/here-services.ts";
import { findRunning, homeAt, type Home } from "../../local/home.ts";
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Result } from "../output.ts";

/** A first start makes a database server. */
const DEADLINE_MS = 120_000;
const POLL_MS = 200;
const FIELD_MANAGER = "cup-services";

export async function enableServices(context: Context, names: readonly string[]): Promise<Result> {
  const databases = names.map(toDatabase);
  await withOwnHome(context, async (here) => {
    for (const database of databases) await enable(context, here, database);
  });
  return {
    json: databases.map((name) => ({ name, enabled: true })),
    text: databases.map((name) => `${name} is in the marketplace. Next: cup create-service ${name} my-${name}`),
  };
}

/** Refused by the API while there are instances. */
export async function disableServices(context: Context, names: readonly string[]): Promise<Result> {
  const databases = names.map(toDatabase);
  await withOwnHome(context, async ({ kube }) => {
    for (const database of databases) {
      context.progress.step(`Taking ${database} out of the marketplace`);
      const broker = await findBroker(context, database);
      if (broker) await context.api.waitForJob((await context.api.start("DELETE", brokerPath(broker))).job);
      await ignoreNotFound(kube.delete(ConfigMap, keyOf(database)));
    }
  });
  return {
    json: databases.map((name) => ({ name, enabled: false })),
    text: databases.map(
      (name) => `${name} is out of the marketplace. Next: cup services enable ${name} brings it back`,
    ),
  };
}

/** The platform of this machine. */
interface Here {
  kube: KubeClient;
  home: Home;
}

async function withOwnHome(context: Context, action: (here: Here) => Promise<void>): Promise<void> {
  const home = await findOwnHome(context);
  const access = await loadKubeconfig({ path: home.kubeconfig, context: "admin" });
  const kube = createClient({ ...access, userAgent: "cup", fieldManager: FIELD_MANAGER });
  try {
    await action({ kube, home });
  } finally {
    await kube.close();
  }
}

function toDatabase(name: string): Database {
  const found = DATABASES.find((one) => one === name);
  if (found) return found;
  throw new Failure(`this machine can offer ${DATABASES.join(" and ")}, not ${name}`, {
    kind: "usage",
    next: "cf create-service-broker, for a broker of another service",
  });
}

/** @throws Failure unless the target is the platform of this machine */
async function findOwnHome({ target }: Context): Promise<Home> {
  const home = homeAt(undefined);
  const running = await findRunning(home);
  if (running && URL.parse(running.url)?.origin === URL.parse(target.api)?.origin) return home;
  throw new Failure(`only the platform that runs on this machine offers its databases, and ${target.api} does not`, {
    next: running
      ? `cup login --api ${running.url}`
      : "cup local start, or for another platform: cf create-service-broker",
  });
}

async function enable(context: Context, { kube, home }: Here, name: Database): Promise<void> {
  context.progress.step(`Starting ${name} on this machine`);
  const url = await startHere(kube, name);
  const access = readBrokerAccess(home, name);
  if (!access) throw new Failure(`${name} has no access below ${home.dir}`, { next: `read ${home.log}` });
  context.progress.step(`Registering the broker of ${name}`);
  const broker = await register(context, name, { url, ...access });
  const plans = await context.api.list("/v3/service_plans", { service_broker_guids: broker.guid });
  for (const { guid } of plans)
    await context.api.request("PATCH", `/v3/service_plans/${guid}/visibility`, { body: { type: "public" } });
}

/** Asks the platform's process to run it. Its URL. @throws Failure with the reason of its failure */
async function startHere(kube: KubeClient, name: Database): Promise<string> {
  const key = keyOf(name);
  const asked = randomUUID();
  await kube.apply(
    ConfigMap,
    { metadata: { ...key, labels: { [HERE_LABEL]: name } }, data: { asked } },
    { fieldManager: FIELD_MANAGER, force: true },
  );
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const { data } = await kube.get(ConfigMap, key);
    if (data?.["answered"] === asked) {
      if (data["url"]) return data["url"];
      throw new Failure(data["problem"] ?? `${name} did not start`, {
        next: `the same again: cup services enable ${name}`,
      });
    }
    if (Date.now() > deadline)
      throw new Failure(`${name} was not ready in ${DEADLINE_MS / 1000} s, and goes on`, {
        next: `cup services enable ${name}`,
      });
    await delay(POLL_MS);
  }
}

const keyOf = (database: Database) => ({ namespace: SYSTEM_NAMESPACE, name: hereServiceName(database) });
const brokerName = (database: Database): string => `this-machine-${database}`;
const brokerPath = ({ guid }: Resource): string => `/v3/service_brokers/${guid}`;

async function findBroker({ api }: Context, database: Database): Promise<Resource | undefined> {
  const [found] = await api.list("/v3/service_brokers", { names: brokerName(database) });
  return found;
}

/** Registers it, or corrects what is registered. */
async function register(
  context: Context,
  database: Database,
  { url, username, password }: { url: string; username: string; password: string },
): Promise<Resource> {
  const { api } = context;
  const body = { url, authentication: { type: "basic", credentials: { username, password } } };
  const known = await findBroker(context, database);
  const { job } = known
    ? await api.start("PATCH", brokerPath(known), { body })
    : await api.start("POST", "/v3/service_brokers", { body: { name: brokerName(database), ...body } });
  await api.waitForJob(job);
  const found = known ?? (await findBroker(context, database));
  if (!found) throw new Failure(`the broker of ${database} is gone`, { next: `cup services enable ${database}` });
  return found;
}
