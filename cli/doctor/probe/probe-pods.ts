// The pods and the NetworkPolicy of a probe. Pure.
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { Deployment, NetworkPolicy, Pod } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { argumentsOf } from "../chart-arguments.ts";
import { POD_SECONDS } from "./duration.ts";

/** Label of all that a probe makes: its id. */
export const PROBE_LABEL = "cupola.dev/doctor-probe";
const ROLE_LABEL = "cupola.dev/doctor-probe-role";
export const PROBE_PORTS = { open: 8471, closed: 8472 } as const;

export type ProbeRole = "registry" | "listen" | "reach";
type DeploymentObject = ObjectOf<typeof Deployment>;
type PodSpec = NonNullable<ObjectOf<typeof Pod>["spec"]>;

export interface ProbePod {
  id: string;
  role: ProbeRole;
  /** After the role. */
  args: readonly string[];
}

/** With image, login and security of the Deployment's own pods, and none of their labels, so no Service leads to it. */
export function toProbePod(deployment: DeploymentObject, { id, role, args }: ProbePod): ObjectOf<typeof Pod> {
  const spec = deployment.spec?.template.spec;
  const [container] = spec?.containers ?? [];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: SYSTEM_NAMESPACE, name: `cupola-doctor-${role}-${id}`, labels: labelsOf(id, role) },
    spec: {
      ...keep(spec, ["serviceAccountName", "securityContext", "imagePullSecrets", "nodeSelector", "tolerations"]),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: "Never",
      activeDeadlineSeconds: POD_SECONDS,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "probe",
          ...keep(container, ["image", "imagePullPolicy", "securityContext"]),
          command: ["/usr/bin/node", "--disable-warning=ExperimentalWarning", "platform/probe/probe.ts"],
          args: [role, ...args],
          resources: { requests: { cpu: "50m", memory: "96Mi" }, limits: { memory: "256Mi" } },
          volumeMounts: (container?.volumeMounts ?? []).filter(({ name }) => name === REGISTRY_VOLUME),
        },
      ],
      volumes: (spec?.volumes ?? []).filter(({ name }) => name === REGISTRY_VOLUME),
    } as PodSpec,
  };
}

const REGISTRY_VOLUME = "registry";

function labelsOf(id: string, role: ProbeRole): Record<string, string> {
  return { [PROBE_LABEL]: id, [ROLE_LABEL]: role };
}

function keep<T extends object, K extends keyof T>(from: T | undefined, keys: readonly K[]): Partial<Pick<T, K>> {
  return Object.fromEntries(
    keys.flatMap((key) => (from?.[key] === undefined ? [] : [[key, from[key]]])),
  ) as unknown as Partial<Pick<T, K>>;
}

/** Lets the pods of the probe into one port of the one that listens, and nobody into another. */
export function toProbePolicy(id: string): ObjectOf<typeof NetworkPolicy> {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { namespace: SYSTEM_NAMESPACE, name: `cupola-doctor-${id}`, labels: { [PROBE_LABEL]: id } },
    spec: {
      podSelector: { matchLabels: labelsOf(id, "listen") },
      policyTypes: ["Ingress"],
      ingress: [
        {
          from: [{ podSelector: { matchLabels: { [PROBE_LABEL]: id } } }],
          ports: [{ port: PROBE_PORTS.open as never }],
        },
      ],
    },
  };
}

/** The registry as the Deployment names it; undefined without one. */
export function registryOf(deployment: DeploymentObject): { name: string; args: string[] } | undefined {
  const args = argumentsOf(deployment).filter((arg) =>
    /^--(?:registry|registry-credentials|insecure-registry)=/.test(arg),
  );
  const name = args.find((arg) => arg.startsWith("--registry="))?.slice("--registry=".length);
  return name === undefined ? undefined : { name, args };
}

/** Why a pod has no outcome yet, in Kubernetes' words. */
export function stateOf({ status }: ObjectOf<typeof Pod>): string {
  const { conditions = [], containerStatuses = [], phase = "Pending" } = status ?? {};
  const condition = conditions.find(({ status: is, message }) => is === "False" && message);
  return containerState(containerStatuses[0]?.state) || (condition?.message ?? phase);
}

type ContainerState = NonNullable<NonNullable<ObjectOf<typeof Pod>["status"]>["containerStatuses"]>[number]["state"];

function containerState(state: ContainerState): string {
  const { reason, message } = state?.waiting ?? state?.terminated ?? {};
  return [reason, message].filter((word) => word !== undefined).join(": ");
}

/** The last message of an ended pod; undefined while it runs. */
export function messageOf({ status }: ObjectOf<typeof Pod>): string | undefined {
  return status?.containerStatuses?.[0]?.state?.terminated?.message;
}

export function hasEnded({ status }: ObjectOf<typeof Pod>): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
