// The world of chaos with services: replicas of the platform on a real control plane, a broker beside them, and a space. The broker tells when it is called.
import { setTimeout as delay } from "node:timers/promises";
import { BROKER_CREDENTIALS_SECRET } from "../../../crds/service-broker/credentials.ts";
import { Org } from "../../../crds/org/org.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { ServicePlan } from "../../../crds/service-plan/service-plan.ts";
import { Space } from "../../../crds/space/space.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { startTestBroker, type Intercept, type TestBroker } from "../../service-broker/test-broker.ts";
import { eventually } from "../../eventually.ts";
import { REPLICAS } from "../schedule.ts";
import { startChaosEnv, type ChaosEnv } from "../test-env.ts";

const NAME = "services";
const READY_MS = 60_000;
/** Another replica takes over after so long. */
const LEASE_SECONDS = 4;
/** Between two looks at who leads. */
const LOOK_MS = 100;

export interface ServiceWorld {
  env: ChaosEnv;
  broker: TestBroker;
  /** Namespace of the space. */
  namespace: string;
  /** Object name of the plan that a catalog's id names. */
  planOf(catalogID: string): string;
  /** Called at each request to the broker, by the schedule that runs. */
  setIntercept(intercept: Intercept | undefined): void;
  /** Kills the replica whose controllers ask brokers, and starts it again. Resolves when it is gone. `isUrgent`: the one that led a moment ago. */
  killLeader(isUrgent: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function startServiceWorld(keep: boolean): Promise<ServiceWorld> {
  const env = await startChaosEnv({ keep, operations: "api,controllers", leaseSeconds: LEASE_SECONDS });
  let intercept: Intercept | undefined;
  const broker = await startTestBroker({ intercept: (moment, asked) => intercept?.(moment, asked) });
  const leader = watchLeader(env);
  const stop = async (): Promise<void> => {
    leader.stop();
    await broker.close();
    await env.stop();
  };
  try {
    const plans = await registerBroker(env, broker);
    const namespace = await makeSpace(env);
    return {
      env,
      broker,
      namespace,
      planOf: (id) => plans.get(id) ?? "",
      setIntercept: (next) => void (intercept = next),
      async killLeader(isUrgent) {
        // A request that waits has time for the question who leads now. Its sender led a moment ago, or leads now: if it lived on, it would see a broken connection.
        const known = leader.which();
        if (!isUrgent) await leader.look();
        for (const which of new Set([known, leader.which()])) {
          await env.replicas.kill(which);
          env.replicas.start(which);
        }
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Knows who leads, so that a kill needs no question first. */
function watchLeader({ replicas }: ChaosEnv): { which: () => number; look: () => Promise<void>; stop: () => void } {
  let [leader, isStopped] = [0, false];
  const look = async (): Promise<void> => {
    for (let which = 0; which < REPLICAS; which++)
      if ((await replicas.leads(which)).some((name) => name.endsWith("controllers"))) leader = which;
  };
  void (async () => {
    while (!isStopped) {
      await look();
      await delay(LOOK_MS);
    }
  })();
  return { which: () => leader, look, stop: () => (isStopped = true) };
}

/** With its plans for everybody. Their object names, by the catalog's ids. */
async function registerBroker(
  { kube }: ChaosEnv,
  { url, username, password }: TestBroker,
): Promise<Map<string, string>> {
  const at = { namespace: SYSTEM_NAMESPACE };
  const encoded = (text: string): string => Buffer.from(text).toString("base64");
  await kube.create(Secret, {
    metadata: { ...at, name: BROKER_CREDENTIALS_SECRET },
    type: "Opaque",
    data: { [`${NAME}.username`]: encoded(username), [`${NAME}.password`]: encoded(password) },
  });
  const credentialsSecretRef = { name: BROKER_CREDENTIALS_SECRET, prefix: NAME };
  await kube.create(ServiceBroker, {
    metadata: { ...at, name: NAME },
    spec: { name: NAME, url, credentialsSecretRef },
  });
  const plans = await eventually(async () => {
    const { items } = await kube.list(ServicePlan, at);
    if (items.length < 2) throw new Error("the catalog is not there");
    return items;
  }, READY_MS);
  const body = { spec: { visibility: { type: "public" } } };
  for (const { metadata } of plans)
    await kube.patch(ServicePlan, { ...at, name: metadata.name }, { type: "merge", body });
  return new Map(plans.map(({ metadata, spec }) => [spec.catalogID, metadata.name]));
}

async function makeSpace({ kube }: ChaosEnv): Promise<string> {
  const namespaceOf = (object: Org | Space): string => {
    if (!object.status?.namespace) throw new Error(`${object.metadata.name} has no namespace`);
    return object.status.namespace;
  };
  await kube.create(Org, { metadata: { name: NAME }, spec: {} });
  const namespace = await eventually(async () => namespaceOf(await kube.get(Org, { name: NAME })), READY_MS);
  await kube.create(Space, { metadata: { namespace, name: "dev" }, spec: {} });
  return eventually(async () => namespaceOf(await kube.get(Space, { namespace, name: "dev" })), READY_MS);
}
