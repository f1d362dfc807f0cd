// The pods of LRPs as runners cache them: without environment, volumes and the like, since a cache holds many. Pure.
import type { ContainerStatus, Pod as PodType, PodCondition } from "kubernetes-types/core/v1.js";
import type { Builtin } from "../../kube/api/builtin.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { Pod } from "../../kube/api/builtin.ts";
import { watch, type WatchRule } from "../../kube/controller/controller.ts";
import { LABELS } from "../../crds/labels.ts";

export type PodObject = Builtin<PodType>;

/** Selects the pods of all LRPs; the label's value is the LRP's name. */
export const POD_SELECTOR = LABELS.lrp;

/** Longest text of Kubernetes that is kept of a status. */
const MAX_MESSAGE = 1024;

/** Changes of an LRP's pods enqueue the LRP. All controllers of one process share this watch and its cache. */
export function watchPods(): WatchRule {
  const lrpOf = ({ metadata }: PodObject) => [
    { namespace: metadata.namespace ?? "", name: metadata.labels?.[LABELS.lrp] ?? "" },
  ];
  return watch(Pod, lrpOf, { labelSelector: POD_SELECTOR, transform: slimPod });
}

/** Reduces a pod to what instances and indexes need. */
export function slimPod({ apiVersion, kind, metadata, spec, status }: PodObject): PodObject {
  return {
    apiVersion,
    kind,
    metadata: slimMetadata(metadata),
    ...(spec && { spec: slimSpec(spec) }),
    ...(status && { status: slimStatus(status) }),
  };
}

function slimMetadata(metadata: PodObject["metadata"]): PodObject["metadata"] {
  const { name, namespace, uid, labels, annotations, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const kept = { namespace, uid, labels, annotations, resourceVersion, creationTimestamp, deletionTimestamp };
  return { name, ...omitUndefined(kept) };
}

function slimSpec({ schedulingGates, nodeName, containers }: NonNullable<PodObject["spec"]>): PodObject["spec"] {
  return {
    containers: containers.map(({ name, image, startupProbe }) => ({
      name,
      ...omitUndefined({ image, startupProbe: startupProbe && {} }),
    })),
    ...omitUndefined({ schedulingGates, nodeName }),
  };
}

function slimStatus(status: NonNullable<PodObject["status"]>): PodObject["status"] {
  const { phase, reason, message, podIP, conditions, containerStatuses } = status;
  return omitUndefined({
    phase,
    reason,
    message: shorten(message),
    podIP,
    conditions: conditions?.map(slimCondition),
    containerStatuses: containerStatuses?.map(slimContainerStatus),
  });
}

function slimCondition({ type, status, reason, message, lastTransitionTime }: PodCondition): PodCondition {
  return { type, status, ...omitUndefined({ reason, message: shorten(message), lastTransitionTime }) };
}

function slimContainerStatus({
  name,
  ready,
  restartCount,
  started,
  state,
  lastState,
}: ContainerStatus): ContainerStatus {
  return {
    name,
    ready,
    restartCount,
    image: "",
    imageID: "",
    ...omitUndefined({ started, state: slimState(state), lastState: slimState(lastState) }),
  };
}

type ContainerState = NonNullable<ContainerStatus["state"]>;

function slimState(state: ContainerState | undefined): ContainerState | undefined {
  if (!state) return undefined;
  const { running, waiting, terminated } = state;
  return omitUndefined({
    running,
    waiting: waiting && { ...waiting, ...omitUndefined({ message: shorten(waiting.message) }) },
    terminated: terminated && { ...terminated, ...omitUndefined({ message: shorten(terminated.message) }) },
  });
}

function shorten(message: string | undefined): string | undefined {
  return message?.slice(0, MAX_MESSAGE);
}
