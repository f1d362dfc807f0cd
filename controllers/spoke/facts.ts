// On a spoke: keeps the facts that its hub reads in a ConfigMap.
import { FACTS_CONFIG, parseFacts, toFactsData, type SpokeFacts } from "../../crds/cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { ConfigMap, Namespace } from "../../kube/api/builtin.ts";
import { mergeDiff } from "../../kube/api/merge-diff.ts";
import { apiVersionOf } from "../../kube/api/resource-ref.ts";
import { defineController, type Controller } from "../../kube/controller/controller.ts";
import type { Permission } from "../../kube/rbac/resource-rules.ts";
import { CAPACITY_PERMISSIONS, readCapacity } from "./capacity.ts";
import { planFacts } from "./plan.ts";

const FIELD_MANAGER = "cupola-spoke-facts";
/** Between two counts. */
const COUNT_MS = 2 * 60_000;
const DEADLINE_MS = 15_000;

/** In the system namespace. */
export const FACTS_PERMISSIONS: readonly Permission[] = [
  { resource: ConfigMap, verbs: ["create"] },
  { resource: ConfigMap, verbs: ["get", "patch"], names: [FACTS_CONFIG] },
];

/** `version`: of this Cupola. */
export function spokeFactsController(version: string | undefined): Controller {
  return defineController({
    name: "spoke-facts",
    for: Namespace,
    selects: ({ metadata }) => metadata.name === SYSTEM_NAMESPACE,
    writesStatus: false,
    writesObject: false,
    permissions: CAPACITY_PERMISSIONS,

    async reconcile(_namespace, { client }) {
      const key = { namespace: SYSTEM_NAMESPACE, name: FACTS_CONFIG };
      const known = await client.find(ConfigMap, key, { deadlineMs: DEADLINE_MS });
      const seen: SpokeFacts = { cupola: version, capacity: await readCapacity(client) };
      const data = toFactsData(planFacts(parseFacts(known?.data), seen));
      if (!known || mergeDiff(known.data ?? {}, data) !== undefined)
        await client.apply(
          ConfigMap,
          { apiVersion: apiVersionOf(ConfigMap), kind: ConfigMap.kind, metadata: key, data },
          { fieldManager: FIELD_MANAGER, force: true, deadlineMs: DEADLINE_MS },
        );
      return { requeueAfterMs: COUNT_MS };
    },
  });
}
