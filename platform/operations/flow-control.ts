// Priority and fairness in kube-apiserver: what new pods wait for does not wait behind the requests of other clients. For the chart; pure.
import { Lease } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { serviceAccountName } from "./permissions.ts";

const API_VERSION = "flowcontrol.apiserver.k8s.io/v1";
const NAME = serviceAccountName("instance-index");

/**
 * Seats of its own for `instance-index`: in the level of kube-controller-manager its patches would wait behind the pods that are made at the same time, in that
 * of all other ServiceAccounts behind theirs. And the place of Kubernetes' own Leases for those of all replicas: whose renewal waits loses the lead.
 */
export function listFlowControl(): KubeObject[] {
  return [priorityLevel(), ownRequests(), leases()];
}

/** The level gets 45 of kube-apiserver's default 600 seats and keeps 34: the platform sends 30 requests at a time. */
function priorityLevel(): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "PriorityLevelConfiguration",
    metadata: { name: NAME },
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 20,
        lendablePercent: 25,
        limitResponse: { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 50 } },
      },
    },
  };
}

/** Before those of kube-scheduler (800), after Kubernetes' own Leases (100) and nodes (400 and 500). */
function ownRequests(): KubeObject {
  const all = ["*"];
  return toFlowSchema(NAME, {
    matchingPrecedence: 750,
    level: NAME,
    distinguisher: "ByNamespace",
    serviceAccount: NAME,
    resources: { verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true },
  });
}

function leases(): KubeObject {
  return toFlowSchema("cupola-leases", {
    matchingPrecedence: 150,
    level: "leader-election",
    distinguisher: "ByUser",
    serviceAccount: "*",
    resources: {
      verbs: ["get", "create", "update", "patch"],
      apiGroups: [Lease.group],
      resources: [Lease.plural],
      namespaces: [SYSTEM_NAMESPACE],
    },
  });
}

interface Flow {
  /** The schema with the lowest number that matches a request counts. */
  matchingPrecedence: number;
  /** A PriorityLevelConfiguration. */
  level: string;
  distinguisher: "ByNamespace" | "ByUser";
  /** In the system namespace; `*` for all. */
  serviceAccount: string;
  resources: object;
}

function toFlowSchema(
  name: string,
  { matchingPrecedence, level, distinguisher, serviceAccount, resources }: Flow,
): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "FlowSchema",
    metadata: { name },
    spec: {
      matchingPrecedence,
      priorityLevelConfiguration: { name: level },
      distinguisherMethod: { type: distinguisher },
      rules: [
        {
          subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace: SYSTEM_NAMESPACE, name: serviceAccount } }],
          resourceRules: [resources],
        },
      ],
    },
  };
}
