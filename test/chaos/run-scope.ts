// Where one run happens: names that no other run has, and what was found of them on the cluster.
import { Org } from "../../crds/org/org.ts";
import { Space } from "../../crds/space/space.ts";
import { guidOf } from "../../crds/guid.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RetryableError, retryUntilAcknowledged } from "./retry.ts";
import { ORG } from "./workload.ts";

export interface SpaceRef {
  guid: string;
  namespace: string;
}

/** Names of one run. All begin with `prefix`. */
export interface RunScope {
  prefix: string;
  org: string;
  /** Host of a route, unique on the platform. */
  host(route: string): string;
  orgGUID(): Promise<string>;
  orgNamespace(): Promise<string>;
  /** Waits until it is made, by whoever makes it. */
  space(name: string): Promise<SpaceRef>;
}

/** `kube` speaks to kube-apiserver directly: what is looked up here is looked up as kubectl would. */
export function createRunScope(kube: KubeClient, prefix: string): RunScope {
  const org = `${prefix}-${ORG}`;
  const found = new Map<string, Promise<SpaceRef>>();
  const once = (key: string, find: () => Promise<SpaceRef>): Promise<SpaceRef> => {
    const known = found.get(key) ?? retryUntilAcknowledged(`${prefix}: ${key} has a namespace`, find);
    found.set(key, known);
    return known;
  };
  const findOrg = () => once("the org", async () => toSpaceRef(await kube.get(Org, { name: org })));
  return {
    prefix,
    org,
    host: (route) => `${prefix}-${route}`,
    orgGUID: async () => (await findOrg()).guid,
    orgNamespace: async () => (await findOrg()).namespace,
    space: async (name) => {
      const { namespace } = await findOrg();
      return once(`space ${name}`, async () => toSpaceRef(await kube.get(Space, { namespace, name })));
    },
  };
}

function toSpaceRef(object: Org | Space): SpaceRef {
  if (!object.status?.namespace) throw new RetryableError(`${object.kind} ${object.metadata.name} has no namespace`);
  return { guid: guidOf(object), namespace: object.status.namespace };
}
