// Whether every replica has applied a configuration object: each replica reports, a singleton aggregates. Members are listed live, never guessed.
import type { Logger } from "pino";
import { untilAborted } from "../client/until-aborted.ts";
import { ConfigMap } from "../api/builtin.ts";
import type { KubeClient } from "../client/client.ts";
import { isNotFound } from "../client/errors.ts";
import { type Controller, defineController } from "../controller/controller.ts";
import type { Membership } from "./membership.ts";
import type { Member } from "./member.ts";
import { keyOf, type KubeObject, type ObjectKey, parseKey } from "../api/object.ts";
import { createWorkqueue, type Workqueue } from "../controller/workqueue.ts";
import type { ReadinessTracker } from "../server/readiness.ts";
import type { Store } from "../cache/reader.ts";
import type { ObjectOf, ResourceRef } from "../api/resource-ref.ts";

/** A replica's report on an object. */
export interface Report {
  /** Identity of the replica. */
  replica: string;
  /** uid of its Lease: a restarted replica has applied nothing yet. */
  leaseUid: string;
  uid: string;
  generation: number;
  /** Why the object could not be applied; empty on success. */
  error: string;
}

export interface Enforcement {
  enforced: boolean;
  /** Replicas that have not applied this generation. */
  pendingReplicas: string[];
  errors: { replica: string; error: string }[];
}

/** Enforced when every member has applied this uid and generation, and the object is not terminating. Pure. */
export function planEnforcement(
  object: KubeObject,
  members: readonly Pick<Member, "identity" | "leaseUid">[],
  reports: readonly Report[],
): Enforcement {
  const { uid, generation = 0, deletionTimestamp } = object.metadata;
  const ofMember = members.map(({ identity, leaseUid }) => ({
    identity,
    report: reports.find(
      (report) =>
        report.replica === identity &&
        report.leaseUid === leaseUid &&
        report.uid === uid &&
        report.generation === generation,
    ),
  }));
  const pendingReplicas = ofMember
    .filter(({ report }) => !report)
    .map(({ identity }) => identity)
    .sort();
  const errors = ofMember
    .flatMap(({ identity, report }) => (report?.error ? [{ replica: identity, error: report.error }] : []))
    .sort((a, b) => (a.replica < b.replica ? -1 : 1));
  return {
    enforced:
      members.length > 0 && pendingReplicas.length === 0 && errors.length === 0 && deletionTimestamp === undefined,
    pendingReplicas,
    errors,
  };
}

/** Where reports are stored, and the label and annotation that identify their object. */
export interface ReportLocation {
  namespace: string;
  /** Label with the plural of the reported kind. */
  label: string;
  /** Annotation with the key of the reported object. */
  annotation: string;
}

/** The name of a report. Dashes inside its parts are doubled, so that names are unique. */
export function reportName(replica: string, ref: ResourceRef, key: ObjectKey): string {
  return [replica, ref.plural, ...(key.namespace ? [key.namespace] : []), key.name]
    .map((part) => part.replaceAll("-", "--"))
    .join("-");
}

export interface ReportingOptions<T extends KubeObject> {
  client: KubeClient;
  /** The configuration objects of this replica. */
  store: Store<T>;
  membership: Membership;
  location: ReportLocation;
  /** Applies the object; an error is reported. */
  apply: (object: T) => Promise<void> | void;
  /** The object was deleted. */
  onDeleted?: (object: T) => void;
  /** Keeps the process unready until the existing objects are applied. */
  tracker?: ReadinessTracker;
  signal: AbortSignal;
  log: Logger;
}

export interface Reporting {
  idle(): Promise<void>;
  readonly stopped: Promise<void>;
}

/** Applies and reports every object of the store, now and on every change, and again after a rejoin. Reports are owned by this replica's Lease. */
export function startReporting<T extends KubeObject>(options: ReportingOptions<T>): Reporting {
  const { store, membership, tracker, signal, log } = options;
  /** uid of the Lease under which each object was last reported. */
  const reported = new Map<string, string>();
  const queue: Workqueue = createWorkqueue({
    workers: 4,
    process: (id) => reportObject(options, id, reported),
    onFault: (key, err) => log.warn({ key, err }, "could not report; it is retried"),
  });
  const change = store.onChange((what) => {
    if (what.type === "deleted") {
      tracker?.cancel(keyOf(what.old.metadata));
      options.onDeleted?.(what.old);
    }
    queue.add(keyOf(what.object.metadata));
  });
  let hasBegun = false;
  // Objects unchanged after a resync emit no event, and a new Lease needs new reports.
  const enqueueUnreported = (): void => {
    if (!store.synced) return;
    const life = membership.ownerReference()?.uid;
    for (const { metadata } of store.list({ partial: true })) {
      const key = keyOf(metadata);
      if (hasBegun && (life === undefined || reported.get(key) === life)) continue;
      tracker?.expect(key);
      queue.add(key);
    }
    if (!hasBegun) tracker?.expectationsDone();
    hasBegun = true;
  };
  const stops = [change, membership.onChange(enqueueUnreported), store.onStateChange(enqueueUnreported)];
  enqueueUnreported();
  const stopped = untilAborted(signal).then(() => {
    for (const stop of stops) stop();
    return queue.close();
  });
  return { idle: () => queue.idle(), stopped };
}

async function reportObject<T extends KubeObject>(
  options: ReportingOptions<T>,
  id: string,
  reported: Map<string, string>,
): Promise<{ kind: "done" }> {
  const { client, store, membership, location, tracker } = options;
  const key = parseKey(id);
  const at = { namespace: location.namespace, name: reportName(membership.identity, store.ref, key) };
  const object = store.find(key);
  if (!object) {
    reported.delete(id);
    await client.delete(ConfigMap, at).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    return { kind: "done" };
  }
  const error = await tryApply(options, object);
  if (error === "") tracker?.observe(id);
  else tracker?.fail(id, error);
  const owner = membership.ownerReference();
  // Not a member now; the next Lease triggers a report.
  if (!owner) return { kind: "done" };
  await writeReport(options, { object, at, error, id, owner });
  reported.set(id, owner.uid);
  return { kind: "done" };
}

async function tryApply<T extends KubeObject>({ apply }: ReportingOptions<T>, object: T): Promise<string> {
  try {
    await apply(object);
    return "";
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).slice(0, 1024) || "an error without a message";
  }
}

interface ReportDraft<T> {
  object: T;
  at: ObjectKey & { namespace: string };
  error: string;
  id: string;
  owner: NonNullable<ReturnType<Membership["ownerReference"]>>;
}

async function writeReport<T extends KubeObject>(
  { client, membership, location, store }: ReportingOptions<T>,
  { object, at, error, id, owner }: ReportDraft<T>,
): Promise<void> {
  const data = {
    replica: membership.identity,
    life: owner.uid,
    uid: object.metadata.uid ?? "",
    generation: String(object.metadata.generation ?? 0),
    error,
  };
  const found = await client.find(ConfigMap, at);
  if (found?.data && Object.entries(data).every(([name, value]) => found.data?.[name] === value)) return;
  const metadata = {
    ...at,
    labels: { [location.label]: store.ref.plural },
    annotations: { [location.annotation]: id },
    ownerReferences: [owner],
  };
  await client.apply(ConfigMap, { metadata, data }, { fieldManager: `report-${membership.identity}`, force: true });
}

/** Parses a stored report; undefined for another ConfigMap. */
export function toReport({ data }: ObjectOf<typeof ConfigMap>): Report | undefined {
  const { replica, life, uid, generation, error } = data ?? {};
  return replica && life && uid && generation
    ? { replica, leaseUid: life, uid, generation: Number(generation), error: error ?? "" }
    : undefined;
}

export interface EnforcementOptions<T extends KubeObject> {
  name: string;
  ref: ResourceRef<T>;
  membership: Membership;
  location: ReportLocation;
  /** The reports on this kind, selected by the label of `location`. */
  reports: Store<ObjectOf<typeof ConfigMap>>;
}

/** Maintains the condition Enforced, as a singleton. */
export function enforcementController<T extends KubeObject>({
  name,
  ref,
  membership,
  location,
  reports,
}: EnforcementOptions<T>): Controller {
  const keyIn = ({ metadata }: KubeObject): ObjectKey => parseKey(metadata.annotations?.[location.annotation] ?? "");
  return defineController<T>({
    name,
    kind: "singleton",
    for: ref,
    condition: "Enforced",
    sources: [
      (enqueue, signal) => {
        const stop = [
          reports.onChange(({ object }) => enqueue(keyIn(object))),
          membership.onChange(() => reports.synced && reports.list().forEach((one) => enqueue(keyIn(one)))),
        ];
        signal.addEventListener("abort", () => stop.forEach((end) => end()), { once: true });
      },
    ],
    async reconcile(object) {
      const said = reports.list().flatMap((one) => toReport(one) ?? []);
      const seen = planEnforcement(object, membership.members(), said);
      // Read members live: a replica that joined just now may have loaded only objects older than its Lease.
      const sure = seen.enforced ? planEnforcement(object, await membership.listConsistent(), said) : seen;
      return { ready: presentCondition(sure) };
    },
  });
}

function presentCondition({ enforced, pendingReplicas, errors }: Enforcement): {
  status: "True" | "False";
  reason: string;
  message: string;
} {
  if (enforced) return { status: "True", reason: "InForce", message: "" };
  if (errors.length > 0)
    return {
      status: "False",
      reason: "Refused",
      message: errors
        .map(({ replica, error }) => `${replica}: ${error}`)
        .join("; ")
        .slice(0, 4096),
    };
  return {
    status: "False",
    reason: "Waiting",
    message:
      pendingReplicas.length > 0 ? `not yet in ${pendingReplicas.join(", ")}`.slice(0, 4096) : "it is being deleted",
  };
}
