// The containers of a pod that have logs, and their app, by the labels of generated pods. Pure.
import { toOutputSource } from "../../crds/lrp/instance-problem.ts";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import type { ContainerStatus } from "kubernetes-types/core/v1.js";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { indexOfPod } from "./pod-index.ts";
import type { SourceType } from "../envelope.ts";
import { MAIN_CONTAINER, toExit, toHealthySince, type ContainerExit, type PodObject } from "./container-events.ts";

/** A container whose log can be read. */
export interface LoggingContainer {
  /** Unique to the container for the life of its pod. */
  key: string;
  namespace: string;
  pod: string;
  container: string;
  /** GUID of the app. */
  source: string;
  sourceType: SourceType;
  /** Index of the instance. */
  instance: string;
  tags: Record<string, string>;
  /** Object name of its LRP; undefined in tasks and builds. */
  lrp?: string;
  /** Object name of its TaskRun; in tasks alone. */
  taskRun?: string;
  /** Changes with every start of the container. */
  run: string;
  /** An earlier run exists, and its log may be available. */
  restarted: boolean;
  /** More lines may come from this run. */
  running: boolean;
  /** The last end of a run. */
  exit?: ContainerExit;
  /** Nanoseconds since the epoch, when this run of an instance became ready for requests. */
  healthySince?: bigint;
}

/** The containers of a pod that have started at least once; empty for a pod without an app. */
export function loggingContainers(pod: PodObject): LoggingContainer[] {
  const { labels = {}, uid = "", name, namespace = "" } = pod.metadata;
  const source = labels[LABELS.app];
  if (!source) return [];
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const tags = tagsOf(labels);
  return statuses.filter(hasRun).map((status) => ({
    ...omitUndefined({
      exit: toExit(pod, status),
      healthySince: toHealthySince(pod, status),
      lrp: labels[LABELS.lrp],
      taskRun: labels[LABELS.taskRun],
    }),
    key: `${uid}/${status.name}`,
    namespace,
    pod: name,
    container: status.name,
    source,
    sourceType: sourceTypeOf(pod, status.name),
    instance: indexOfPod(labels) ?? "0",
    tags,
    run: status.containerID ?? String(status.restartCount),
    restarted: status.restartCount > 0,
    running: status.state?.running !== undefined,
  }));
}

function hasRun({ state, lastState }: ContainerStatus): boolean {
  return state?.running !== undefined || state?.terminated !== undefined || lastState?.terminated !== undefined;
}

function sourceTypeOf({ metadata: { labels = {}, annotations = {} } }: PodObject, container: string): SourceType {
  if (labels[LABELS.sourceType] === "STG") return "STG";
  if (labels[LABELS.sourceType] === "TASK") return `APP/TASK/${annotations[ANNOTATIONS.taskName] ?? container}`;
  const process: SourceType = toOutputSource(labels[LABELS.processType] ?? "web");
  return container === MAIN_CONTAINER ? process : `${process}/SIDECAR/${container.toUpperCase()}`;
}

function tagsOf(labels: Record<string, string>): Record<string, string> {
  const pairs = [
    ["process_id", labels[LABELS.process]],
    ["process_type", labels[LABELS.processType]],
  ] as const;
  return Object.fromEntries(pairs.flatMap(([tag, value]) => (value === undefined ? [] : [[tag, value]])));
}

/** Reduces a pod to the fields that logs need, since caches hold many pods. */
export function slimPod({ apiVersion, kind, metadata, status }: PodObject): PodObject {
  const { name, namespace, uid, labels, resourceVersion, deletionTimestamp } = metadata;
  const taskName = metadata.annotations?.[ANNOTATIONS.taskName];
  const annotations = taskName === undefined ? undefined : { [ANNOTATIONS.taskName]: taskName };
  const { containerStatuses, initContainerStatuses, reason, message } = status ?? {};
  const conditions = status?.conditions?.filter(({ type }) => type === "Ready");
  return {
    apiVersion,
    kind,
    metadata: { name, ...omitUndefined({ namespace, uid, labels, annotations, resourceVersion, deletionTimestamp }) },
    status: omitUndefined({ containerStatuses, initContainerStatuses, conditions, reason, message }),
  };
}
