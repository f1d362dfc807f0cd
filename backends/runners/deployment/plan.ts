// Renders an LRP as a Deployment and a PodDisruptionBudget. Pure. This is rendering version 1: a change of its output needs a new version
// beside it, since an update of the platform changes no running pod.
import { ANNOTATIONS, LABELS, STABLE_LABELS } from "../../../crds/labels.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { Draft } from "../../../kube/client/client.ts";
import { literal, planEnvironment } from "./environment.ts";
import { planProbes } from "./probes.ts";

/** The renderer's version, published as a capability and pinned in every LRP. */
export const RENDERING = "1";
/** Pods wait behind this scheduling gate until the runner has assigned their index. */
export const INDEX_GATE = "cupola.dev/index";
/** Seconds between SIGTERM and SIGKILL, as in Cloud Foundry. */
const GRACE_SECONDS = 10;

export function planLRP(lrp: LRP): Draft[] {
  return [planDeployment(lrp), ...planDisruptionBudget(lrp)];
}

function metadataOf(lrp: LRP): { labels: Record<string, string>; annotations: Record<string, string> } {
  const { labels = {}, annotations = {}, name } = lrp.metadata;
  const contract = Object.values(STABLE_LABELS).flatMap((key): [string, string][] =>
    labels[key] === undefined ? [] : [[key, labels[key]]],
  );
  const names = Object.values({ app: ANNOTATIONS.appName, space: ANNOTATIONS.spaceName, org: ANNOTATIONS.orgName });
  return {
    labels: { ...Object.fromEntries(contract), [LABELS.lrp]: name },
    annotations: Object.fromEntries(
      names.flatMap((key): [string, string][] => (annotations[key] === undefined ? [] : [[key, annotations[key]]])),
    ),
  };
}

function selectorOf(lrp: LRP): { matchLabels: Record<string, string> } {
  return { matchLabels: { [LABELS.lrp]: lrp.metadata.name } };
}

function planDeployment(lrp: LRP): Draft {
  const metadata = metadataOf(lrp);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...metadata },
    spec: {
      replicas: lrp.spec.instances,
      revisionHistoryLimit: 0,
      selector: selectorOf(lrp),
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: { metadata, spec: planPod(lrp) },
    },
  };
}

function planPod(lrp: LRP): Record<string, unknown> {
  const { droplet, user } = lrp.spec;
  const runAsUser = user !== undefined && /^\d+$/.test(user) ? { runAsUser: Number(user) } : {};
  return {
    schedulingGates: [{ name: INDEX_GATE }],
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: { runAsNonRoot: true, ...runAsUser, seccompProfile: { type: "RuntimeDefault" } },
    topologySpreadConstraints: ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: selectorOf(lrp),
    })),
    ...(droplet.imagePullSecretRef && { imagePullSecrets: [{ name: droplet.imagePullSecretRef.name }] }),
    containers: [planContainer(lrp.spec)],
  };
}

function planContainer(spec: LRP["spec"]): Record<string, unknown> {
  const command = commandOf(spec);
  return {
    name: "application",
    image: spec.droplet.image,
    ...(command && { command }),
    env: planEnvironment(spec),
    ...(spec.ports.length > 0 && { ports: spec.ports.map((containerPort) => ({ containerPort, protocol: "TCP" })) }),
    resources: planResources(spec),
    ...planProbes(spec),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
}

/** A given command runs through a shell (docker) or the lifecycle's launcher (cnb); without one the image's own applies. */
function commandOf({ droplet, command, processType }: LRP["spec"]): string[] | undefined {
  const isCnb = droplet.kind === "cnb";
  if (command) return isCnb ? ["/cnb/lifecycle/launcher", literal(command)] : ["/bin/sh", "-c", literal(command)];
  return isCnb && processType in droplet.processTypes ? [`/cnb/process/${processType}`] : undefined;
}

function planResources({ memoryMB, diskMB, cpu }: LRP["spec"]): Record<string, Record<string, string>> {
  const sizes = { memory: `${memoryMB}Mi`, "ephemeral-storage": `${diskMB}Mi` };
  // A request in proportion to memory, as Diego's CPU weights, and no limit: idle CPU is free to use.
  const share = `${Math.max(5, Math.round((100 * memoryMB) / 1024))}m`;
  return { requests: { cpu: cpu ?? share, ...sizes }, limits: { ...(cpu && { cpu }), ...sizes } };
}

/** A drain leaves half of the pods. A single instance gets no budget: it would block the drain. */
function planDisruptionBudget(lrp: LRP): Draft[] {
  if (lrp.spec.instances < 2) return [];
  return [
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...metadataOf(lrp) },
      spec: { minAvailable: "50%", selector: selectorOf(lrp), unhealthyPodEvictionPolicy: "AlwaysAllow" },
    },
  ];
}
