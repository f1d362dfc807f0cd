// The phases of a push and of a start on a node, from what was seen of objects and containers. Pure.
import type { Pod as PodType } from "kubernetes-types/core/v1.js";
import { LABELS } from "../../../crds/labels.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ContainerTimes } from "./containers.ts";

/** A change of an object, and when a client saw it, in milliseconds since 1970. */
export interface Change {
  at: number;
  type: "ADDED" | "MODIFIED" | "DELETED";
  kind: string;
  object: KubeObject;
}

/** Whose time a phase is. `kubernetes`: kube-controller-manager, kube-scheduler, kube-proxy and the ingress controller. */
export type Owner = "cupola" | "lifecycle" | "kubelet" | "kubernetes";

export interface Phase {
  name: string;
  owner: Owner;
  ms: number;
}

/** A phase's name, whose it is, and when it ended. */
type Mark = readonly [name: string, owner: Owner, at: number];

export interface Facts {
  /** The command, or the request. */
  begunAt: number;
  /** The first 200. */
  answeredAt: number;
  changes: readonly Change[];
  containers: ReadonlyMap<string, ContainerTimes>;
}

type PodObject = KubeObject & Omit<PodType, "apiVersion" | "kind" | "metadata">;

const LIFECYCLE_PHASES = ["analyze", "detect", "restore", "build", "export"];

/** @throws Error that names what was not seen */
export function phasesOfPush(seen: Facts): Phase[] {
  const facts = ofNewObjects(seen);
  const { changes, containers } = facts;
  const pod = last(changes, "Pod", isBuildPod) as PodObject;
  const time = (name: string, what: keyof ContainerTimes): number => timeOf(pod, name, { containers, what });
  return toPhases(facts.begunAt, [
    ["command to package made", "cupola", first(changes, "Package")],
    ["upload, to package ready", "cupola", first(changes, "Package", (object) => stateOf(object) === "Ready")],
    ["build asked for, to Staging made", "cupola", first(changes, "Staging")],
    ["Staging to its pod made", "cupola", first(changes, "Pod", isBuildPod)],
    ["build pod scheduled, sandbox made", "kubelet", time("fetch", "started")],
    ["source fetched into the pod", "cupola", time("fetch", "exited")],
    ...LIFECYCLE_PHASES.flatMap((name): Mark[] => [
      [`between containers, before ${name}`, "kubelet", time(name, "started")],
      [`lifecycle: ${name}`, "lifecycle", time(name, "exited")],
    ]),
    ["kubelet says that the build has ended", "kubelet", first(changes, "Pod", hasExported)],
    ["droplet made", "cupola", first(changes, "Droplet")],
    ["droplet set, app started, to LRP made", "cupola", first(changes, "LRP")],
    ...marksOfPod(facts),
  ]);
}

/** @throws Error that names what was not seen */
export function phasesOfStart(seen: Facts): Phase[] {
  const facts = ofNewObjects(seen);
  return toPhases(facts.begunAt, [
    ["request to LRP made", "cupola", first(facts.changes, "LRP")],
    ...marksOfPod(facts),
  ]);
}

/** From an LRP to the answer of its one instance. */
function marksOfPod({ changes, containers, answeredAt }: Facts): Mark[] {
  const pod = last(changes, "Pod", isInstance) as PodObject;
  const instance = (check: (pod: PodObject) => boolean): number =>
    first(changes, "Pod", (object) => isInstance(object) && check(object));
  return [
    ["LRP to Deployment made", "cupola", first(changes, "Deployment")],
    ["pod made by kube-controller-manager", "kubernetes", instance(() => true)],
    ["gate opened", "cupola", instance(isOpen)],
    ["pod scheduled", "kubernetes", instance(({ spec }) => spec?.nodeName !== undefined)],
    ["image pulled, container started", "kubelet", timeOf(pod, "application", { containers, what: "started" })],
    ["app starts, kubelet's probes, ready", "kubelet", instance(isReady)],
    ["route answers", "kubernetes", answeredAt],
  ];
}

/** A mark that was seen before the one before it takes no time. */
function toPhases(begunAt: number, marks: readonly Mark[]): Phase[] {
  let before = begunAt;
  return marks.map(([name, owner, at]) => {
    const ms = Math.max(0, at - before);
    before = Math.max(before, at);
    return { name, owner, ms };
  });
}

/** All but lifecycle and kubelet; pulls are kubelet's. */
export function ownPart(phases: readonly Phase[], owners: readonly Owner[] = ["cupola", "kubernetes"]): number {
  return phases.filter(({ owner }) => owners.includes(owner)).reduce((sum, { ms }) => sum + ms, 0);
}

/** Milliseconds that each new instance waited for its gate. */
export function gateDelays(changes: readonly Change[]): number[] {
  const pods = changes.filter(({ kind, object }) => kind === "Pod" && isInstance(object));
  return pods.flatMap(({ type, at, object }) => {
    const opened = pods.find((change) => change.object.metadata.uid === object.metadata.uid && isOpen(change.object));
    return type === "ADDED" && opened ? [opened.at - at] : [];
  });
}

function isOpen({ spec }: PodObject): boolean {
  return !spec?.schedulingGates?.length;
}

export function isInstance({ metadata }: KubeObject): boolean {
  return metadata.labels?.[LABELS.lrp] !== undefined;
}

export function isReady({ status }: PodObject): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
}

function isBuildPod({ metadata }: KubeObject): boolean {
  return metadata.labels?.[LABELS.sourceType] === "STG";
}

/** Its last container is enough: that is the Pod's only one besides its init containers. */
function hasExported(object: KubeObject): boolean {
  const { containerStatuses = [] } = (object as PodObject).status ?? {};
  return isBuildPod(object) && containerStatuses.some(({ state }) => state?.terminated?.exitCode === 0);
}

function stateOf(object: KubeObject): unknown {
  return (object as KubeObject & { status?: { state?: string } }).status?.state;
}

/** Objects that were there before may change or go meanwhile. */
function ofNewObjects(facts: Facts): Facts {
  const made = new Set(facts.changes.flatMap(({ type, object }) => (type === "ADDED" ? [object.metadata.uid] : [])));
  return { ...facts, changes: facts.changes.filter(({ object }) => made.has(object.metadata.uid)) };
}

function first(changes: readonly Change[], kind: string, check: (object: PodObject) => boolean = () => true): number {
  const found = changes.find((change) => change.kind === kind && check(change.object as PodObject));
  if (!found) throw new Error(`no ${kind} was seen as expected`);
  return found.at;
}

function last(changes: readonly Change[], kind: string, check: (object: KubeObject) => boolean): KubeObject {
  const found = changes.findLast((change) => change.kind === kind && check(change.object));
  if (!found) throw new Error(`no ${kind} was seen`);
  return found.object;
}

function timeOf(
  { metadata, status }: PodObject,
  name: string,
  { containers, what }: { containers: Facts["containers"]; what: keyof ContainerTimes },
): number {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const id = all.find((container) => container.name === name)?.containerID?.replace(/^\w+:\/\//, "");
  const at = containers.get(id ?? "")?.[what];
  if (at === undefined) throw new Error(`container ${name} of pod ${metadata.name} was not seen to have ${what}`);
  return at;
}
