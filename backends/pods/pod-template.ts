// Renders an LRP's pod, and what surrounds it whichever kind of workload makes the pods. Pure; shared by the runners whose instances are pods.
import { GRACE_SECONDS } from "../grace-seconds.ts";
import { adjustTemplate } from "../../crds/adjustment/merge.ts";
import { parsePatch } from "../../crds/adjustment/of-process.ts";
import { ANNOTATIONS, LABELS, STABLE_LABELS } from "../../crds/labels.ts";
import { wantedIndexes } from "../../crds/lrp/index-pool.ts";
import type { LRP } from "../../crds/lrp/lrp.ts";
import { mainMemoryMB, sidecarContainerName, type ProcessSidecar } from "../../crds/sidecar.ts";
import type { ObjectMeta } from "../../kube/api/object.ts";
import type { Draft } from "../../kube/client/client.ts";
import { literal, planEnvironment } from "./environment.ts";
import type { PodRules } from "./pod-rules.ts";
import { planMounts, planVolumes, type VolumeSources } from "./pod-volumes.ts";
import { planProbes } from "./probes.ts";

/** Seconds between SIGTERM and SIGKILL, as in Cloud Foundry. */

/** Seconds after which a pod of a node that does not answer is replaced. Kubernetes' own default is 300; Cloud Foundry gives up a cell sooner. */
const LOST_NODE_SECONDS = 60;

/** Memory of a sidecar that names none; a container needs a limit. */
const DEFAULT_SIDECAR_MB = 64;

/** Differences between the runners and their versions. `indexLabel` is the pod's label that holds the instance index. */
export interface PodVariant {
  indexLabel: string;
  rules: PodRules;
  schedulingGates?: readonly { name: string }[];
}

/** A pod template, as Deployments, StatefulSets and Jobs take it. */
export interface PodTemplate {
  metadata: ContractMetadata;
  spec: Record<string, unknown>;
}

export function planPodTemplate(lrp: LRP, variant: PodVariant): PodTemplate {
  const template = { metadata: lrpMetadata(lrp), spec: planPod(lrp, variant) };
  const { adjustment } = lrp.spec;
  return adjustment === undefined ? template : adjustTemplate(template, parsePatch(adjustment));
}

/** Labels and annotations of a generated object. */
export interface ContractMetadata {
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Metadata of the objects that make the pods of an LRP, which no adjustment changes. */
export function lrpMetadata({ metadata }: LRP): ContractMetadata {
  const { labels, annotations } = contractMetadata(metadata);
  return { labels: { ...labels, [LABELS.lrp]: metadata.name }, annotations };
}

/** The labels and annotations of the contract (docs/labels.md), which every object carries that is generated from this one. */
export function contractMetadata({ labels = {}, annotations = {} }: ObjectMeta): ContractMetadata {
  const contract = Object.values(STABLE_LABELS).flatMap((key): [string, string][] =>
    labels[key] === undefined ? [] : [[key, labels[key]]],
  );
  const names = Object.values({ app: ANNOTATIONS.appName, space: ANNOTATIONS.spaceName, org: ANNOTATIONS.orgName });
  return {
    labels: Object.fromEntries(contract),
    annotations: Object.fromEntries(
      names.flatMap((key): [string, string][] => (annotations[key] === undefined ? [] : [[key, annotations[key]]])),
    ),
  };
}

/** Selects the pods of one LRP. */
export function selectorOf(lrp: LRP): { matchLabels: Record<string, string> } {
  return { matchLabels: { [LABELS.lrp]: lrp.metadata.name } };
}

function planPod(lrp: LRP, { indexLabel, rules, schedulingGates }: PodVariant): Record<string, unknown> {
  const lifecycle = { preStop: { sleep: { seconds: rules.drainSeconds } } };
  return {
    ...(schedulingGates && { schedulingGates }),
    ...planRestrictedPod(lrp.spec),
    ...(lrp.spec.ports.length > 0 && { terminationGracePeriodSeconds: rules.drainSeconds + GRACE_SECONDS }),
    tolerations: ["not-ready", "unreachable"].map((taint) => ({
      key: `node.kubernetes.io/${taint}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: LOST_NODE_SECONDS,
    })),
    ...rules.planSpread(selectorOf(lrp)),
    containers: [
      {
        ...planContainer({ ...lrp.spec, memoryMB: mainMemoryMB(lrp.spec) }, indexLabel),
        ...(lrp.spec.ports.length > 0 && {
          ports: lrp.spec.ports.map((containerPort) => ({ containerPort, protocol: "TCP" })),
          lifecycle,
        }),
        ...planProbes(lrp.spec, rules),
      },
      ...(lrp.spec.sidecars ?? []).map((sidecar) => ({
        ...planSidecar(lrp.spec, sidecar, indexLabel),
        ...(rules.drainsSidecars && lrp.spec.ports.length > 0 && { lifecycle }),
      })),
    ],
  };
}

/** The part of a pod that is the same for instances and tasks: Pod Security `restricted`, and no API token. */
export function planRestrictedPod({
  droplet,
  user,
  ...volumes
}: Pick<ProgramSpec, "droplet" | "user"> & VolumeSources): Record<string, unknown> {
  const runAsUser = user !== undefined && /^\d+$/.test(user) ? { runAsUser: Number(user) } : {};
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: { runAsNonRoot: true, ...runAsUser, seccompProfile: { type: "RuntimeDefault" } },
    ...(droplet.imagePullSecretRef && { imagePullSecrets: [{ name: droplet.imagePullSecretRef.name }] }),
    ...planVolumes(volumes),
  };
}

/** The command of a container, for an instance or a task. */
export type ProgramSpec = Pick<
  LRP["spec"],
  "droplet" | "command" | "env" | "ports" | "memoryMB" | "diskMB" | "cpu" | "user"
> &
  VolumeSources & { processType?: string };

/** The container without ports and probes. A task has no `indexLabel`. */
export function planContainer(spec: ProgramSpec, indexLabel?: string): Record<string, unknown> {
  const command = commandOf(spec);
  return {
    name: "application",
    image: spec.droplet.image,
    ...(command && { command }),
    env: planEnvironment(spec, indexLabel),
    resources: planResources(spec),
    ...planMounts(spec),
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
}

/** A sidecar has the image and the variables of its process, `PORT` included as in CF, and its own share of the memory. Its container publishes no port. */
function planSidecar(
  spec: LRP["spec"],
  { name, command, memoryMB = DEFAULT_SIDECAR_MB }: ProcessSidecar,
  indexLabel: string,
): Record<string, unknown> {
  const env = spec.env.map((variable) =>
    variable.name === "MEMORY_LIMIT" ? { name: variable.name, value: `${memoryMB}m` } : variable,
  );
  return {
    ...planContainer({ ...spec, env, command, memoryMB }, indexLabel),
    name: sidecarContainerName(name),
  };
}

/** A given command runs through a shell (docker) or the lifecycle's launcher (cnb); without one the image's own applies. */
function commandOf({ droplet, command, processType = "" }: ProgramSpec): string[] | undefined {
  const isCnb = droplet.kind === "cnb";
  if (command) return isCnb ? ["/cnb/lifecycle/launcher", literal(command)] : ["/bin/sh", "-c", literal(command)];
  return isCnb && processType in droplet.processTypes ? [`/cnb/process/${processType}`] : undefined;
}

function planResources({ memoryMB, diskMB, cpu }: ProgramSpec): Record<string, Record<string, string>> {
  const sizes = { memory: `${memoryMB}Mi`, "ephemeral-storage": `${diskMB}Mi` };
  // A request in proportion to memory, as Diego's CPU weights, and no limit: idle CPU is free to use.
  const share = `${Math.max(5, Math.round((100 * memoryMB) / 1024))}m`;
  return { requests: { cpu: cpu ?? share, ...sizes }, limits: { ...(cpu && { cpu }), ...sizes } };
}

/** A drain leaves half of the pods. A single instance gets no budget: it would block the drain. */
export function planDisruptionBudget(lrp: LRP): Draft[] {
  if (wantedIndexes(lrp.spec).length < 2) return [];
  return [
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: lrp.metadata.name, namespace: lrp.metadata.namespace, ...lrpMetadata(lrp) },
      spec: { minAvailable: "50%", selector: selectorOf(lrp), unhealthyPodEvictionPolicy: "AlwaysAllow" },
    },
  ];
}
