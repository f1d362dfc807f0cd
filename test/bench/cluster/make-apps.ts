// Objects that the measurements put into the cluster, written as `kubectl` would: spaces with a developer, stopped apps, apps that should run.
import pLimit from "p-limit";
import { App } from "../../../crds/app/app.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { CF_ROLES } from "../../../crds/roles.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { RoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { type ResourceRef, resourcePath } from "../../../kube/api/resource-ref.ts";
import { until } from "../until.ts";
import { DEVELOPER } from "./bench-cluster.ts";

/** Requests in flight of whoever writes objects, the floor included. */
export const PARALLEL = 32;
const IMAGE = "registry.example.org/app@sha256:0000000000000000000000000000000000000000000000000000000000000000";

const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  const limit = pLimit(PARALLEL);
  await Promise.all(items.map((item) => limit(() => work(item))));
};

/** An org with so many spaces in it, the developer in each. Their namespaces. */
export async function makeSpaces(admin: KubeClient, org: string, count: number): Promise<string[]> {
  await admin.create(Org, { metadata: { name: org }, spec: {} });
  await until(
    async () => (await admin.get(Org, { name: org })).status?.namespace !== undefined,
    `org ${org} has no namespace`,
  );
  const names = Array.from({ length: count }, (_, at) => `s${at}`);
  await inParallel(names, (name) => admin.create(Space, { metadata: { name, namespace: org }, spec: {} }));
  const ready = async (): Promise<string[]> =>
    (await admin.list(Space, { namespace: org })).items.flatMap((space) => space.status?.namespace ?? []);
  await until(async () => (await ready()).length === count, `the spaces of ${org} are not there`);
  const namespaces = await ready();
  await inParallel(namespaces, (namespace) => admin.create(RoleBinding, developerIn(namespace)));
  return namespaces;
}

function developerIn(namespace: string) {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    metadata: { name: "developer", namespace },
    roleRef: { apiGroup, kind: "ClusterRole", name: CF_ROLES.space_developer.clusterRole },
    subjects: [{ kind: "User", apiGroup, name: DEVELOPER }],
  };
}

/** `count` names, spread evenly over the namespaces. */
function spread(namespaces: readonly string[], prefix: string, count: number): { namespace: string; name: string }[] {
  return Array.from({ length: count }, (_, at) => ({
    namespace: namespaces[at % namespaces.length] ?? "",
    name: `${prefix}-${at}`,
  }));
}

/** Stopped apps; resolves when each has its web process. */
export async function makeStoppedApps(
  admin: KubeClient,
  namespaces: readonly string[],
  { prefix, count }: { prefix: string; count: number },
): Promise<void> {
  const there = await expectMore(admin, Process, count);
  await inParallel(spread(namespaces, prefix, count), ({ namespace, name }) =>
    admin.create(App, { metadata: { name, namespace }, spec: { name } }),
  );
  await there();
}

/** Apps with an image as droplet, Started or Stopped; with `domain`, each with a route of its own name. */
export async function makeApps(
  admin: KubeClient,
  namespaces: readonly string[],
  { prefix, count, state, domain }: { prefix: string; count: number; state: "Started" | "Stopped"; domain?: string },
): Promise<void> {
  await inParallel(spread(namespaces, prefix, count), async ({ namespace, name }) => {
    await admin.create(App, {
      metadata: { name, namespace },
      spec: { name, state, lifecycle: { type: "docker" }, droplet: { name } },
    });
    await admin.create(Droplet, {
      metadata: { name, namespace },
      spec: { appRef: { name }, kind: "docker", lifecycleType: "docker", image: IMAGE },
    });
    if (domain === undefined) return;
    await admin.create(Route, {
      metadata: { name, namespace },
      spec: { host: name, domainRef: { name: domain }, destinations: [{ app: name }] },
    });
  });
}

/** Starts all of them. */
export async function startApps(
  admin: KubeClient,
  namespaces: readonly string[],
  { prefix, count }: { prefix: string; count: number },
): Promise<void> {
  await inParallel(spread(namespaces, prefix, count), (key) =>
    admin.patch(App, key, { type: "merge", body: { spec: { state: "Started" } } }),
  );
}

/** Milliseconds between two looks at how many objects there are. */
const LOOK_MS = 250;

/** To be called before objects of a kind are made: a wait for so many more of it. It asks for their number alone, and seldom: each look is a consistent list, and the floor is written without them. */
export async function expectMore(admin: KubeClient, ref: ResourceRef, count: number): Promise<() => Promise<void>> {
  const wanted = (await countOf(admin, ref)) + count;
  return () =>
    until(async () => (await countOf(admin, ref)) >= wanted, `there are not ${count} more ${ref.plural}`, LOOK_MS);
}

async function countOf(admin: KubeClient, ref: ResourceRef): Promise<number> {
  const { items, metadata } = (await admin.raw("GET", `${resourcePath(ref)}?limit=1`)) as {
    items: unknown[];
    metadata: { remainingItemCount?: number };
  };
  return items.length + (metadata.remainingItemCount ?? 0);
}
