// Objects at the end of a run, in a form in which two runs of one load are equal: names of the run, uids, times and versions left out.
import { DEFINITIONS } from "../../crds/definitions.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import type { App } from "../../crds/app/app.ts";
import type { Route } from "../../crds/route/route.ts";
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Ingress,
  Namespace,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
} from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";

const KINDS: readonly ResourceRef[] = [
  ...DEFINITIONS.filter(
    ({ kind }) =>
      !["AuditLog", "UsageLog", "ServiceUsageLog", "BackendClass", "Buildpack", "Stack", "OrgQuota"].includes(kind),
  ),
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  Ingress,
  Namespace,
  PodDisruptionBudget,
  Role,
  RoleBinding,
  Secret,
  Service,
];

type LiveObject = KubeObject & {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  subjects?: unknown;
  roleRef?: unknown;
  rules?: unknown;
  data?: unknown;
};

/** Every object on the cluster that has to do with a run of ours. One list request a kind. */
export async function readCluster(kube: KubeClient): Promise<LiveObject[]> {
  const lists = await Promise.all(KINDS.map((ref) => kube.list(ref)));
  return lists.flatMap(({ items }) => items as LiveObject[]);
}

/** The objects of one run. */
export function filterRunObjects(all: readonly LiveObject[], prefix: string): LiveObject[] {
  const isOurs = ({ kind, metadata, spec }: LiveObject): boolean => {
    if (metadata.namespace === SYSTEM_NAMESPACE) return kind === "Claim" && isNameOf(prefix, claimantOf(spec));
    return (
      isNameOf(prefix, metadata.namespace ?? metadata.name) ||
      (!metadata.namespace && metadata.name.includes(`-${prefix}-`))
    );
  };
  return all.filter(isOurs);
}

function isNameOf(prefix: string, name: string): boolean {
  return name.startsWith(`${prefix}-`);
}

function claimantOf(spec: Record<string, unknown> | undefined): string {
  const { namespace, name } = spec?.["claimant"] as { namespace?: string; name: string };
  return namespace ?? name;
}

/**
 * A line for each object, sorted; equal for two runs that ended alike. What tells how a run got there is left out: revisions that are not in
 * force and what only they name, claims that nobody bears and that will lapse.
 */
export function normalise(objects: readonly LiveObject[], prefix: string): string[] {
  const dropped = findHistory(objects);
  const routes = objects.filter((object): object is Route & LiveObject => object.kind === "Route");
  return objects
    .filter((object) => !dropped.has(object))
    .map((object) => toLine(withNamedURL(object, routes), prefix))
    .toSorted();
}

/** An app shows its oldest route. Of several born in the same second that may be any: their order is not known, and no two runs share it. */
function withNamedURL(object: LiveObject, routes: readonly (Route & LiveObject)[]): LiveObject {
  const { kind, metadata, status } = object;
  if (kind !== "App" || !status?.["url"]) return object;
  const mapped = routes.filter(
    (route) =>
      route.metadata.namespace === metadata.namespace &&
      route.spec.destinations.some(({ app }) => app === metadata.name),
  );
  const [oldest] = mapped.map((route) => route.metadata.creationTimestamp).toSorted();
  const isOldest = mapped.some(
    (route) => route.metadata.creationTimestamp === oldest && route.status?.url === status["url"],
  );
  return isOldest ? { ...object, status: { ...status, url: "<its oldest route>" } } : object;
}

function findHistory(objects: readonly LiveObject[]): Set<LiveObject> {
  const apps = objects.filter((object): object is App & LiveObject => object.kind === "App");
  const inForce = new Set(apps.map(({ metadata, status }) => `${metadata.namespace}/${String(status?.revision)}`));
  const revisions = objects.filter(({ kind }) => kind === "Revision");
  const old = revisions.filter(({ metadata }) => !inForce.has(`${metadata.namespace}/${metadata.name}`));
  const kept = JSON.stringify(revisions.filter((revision) => !old.includes(revision)));
  const secrets = objects.filter(
    ({ kind, metadata }) =>
      kind === "Secret" && /-env-[0-9a-f]{16}$/.test(metadata.name) && !kept.includes(metadata.name),
  );
  const used = JSON.stringify(apps.map(({ spec }) => spec.droplet));
  // A package, a build or a droplet may have been made twice, when the answer to the first was lost.
  const droplets = objects.filter(({ kind, metadata }) => kind === "Droplet" && !used.includes(`"${metadata.name}"`));
  const usedDroplets = objects.filter((object) => object.kind === "Droplet" && !droplets.includes(object));
  const origin = JSON.stringify(usedDroplets);
  const made = objects.filter(
    ({ kind, metadata }) => (kind === "Package" || kind === "Build") && !origin.includes(`"${metadata.name}"`),
  );
  const claims = objects.filter((object) => object.kind === "Claim" && !isClaimHeld(object, objects));
  return new Set([...old, ...secrets, ...droplets, ...made, ...claims]);
}

/** Does the claimant bear the claimed name? A claim that it does not bear lapses within half a minute. */
function isClaimHeld({ spec }: LiveObject, objects: readonly LiveObject[]): boolean {
  const { kind, namespace, name } = spec?.["claimant"] as { kind: string; namespace?: string; name: string };
  const holder = objects.find(
    (object) =>
      object.kind === kind && object.metadata.name === name && (object.metadata.namespace ?? "") === (namespace ?? ""),
  );
  if (!holder) return false;
  const {
    host,
    path,
    port,
    name: given,
  } = (holder.spec ?? {}) as { host?: string; path?: string; port?: number; name?: string };
  const heldName = kind === "Route" ? `${host ?? ""}:${port ?? 0}${path ?? ""}` : (given ?? name);
  return heldName.toLowerCase() === spec?.["claimed"];
}

/** Objects that are not at rest yet, in words. */
export function findUnreconciled(objects: readonly LiveObject[]): string[] {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const stopped = objects.filter(({ kind, spec }) => kind === "App" && spec?.["state"] === "Stopped");
  const stoppedApps = new Set(stopped.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  return objects.flatMap((object) =>
    UNRECONCILED.filter(({ holds }) => holds(object, { uids, stoppedApps })).map(
      ({ what }) => `${object.kind} ${object.metadata.name} ${what}`,
    ),
  );
}

const HAVE_STATUS = new Set([
  "App",
  "Build",
  "Droplet",
  "LRP",
  "Org",
  "Package",
  "Process",
  "Route",
  "RouteBinding",
  "Space",
]);

interface Known {
  uids: ReadonlySet<string | undefined>;
  /** `namespace/name` of each. */
  stoppedApps: ReadonlySet<string>;
}

/** Nothing is said of a process that never ran. */
function needsStatus({ kind, metadata, spec }: LiveObject, { stoppedApps }: Known): boolean {
  const app = (spec?.["appRef"] as { name: string } | undefined)?.name;
  return HAVE_STATUS.has(kind) && !(kind === "Process" && stoppedApps.has(`${metadata.namespace}/${app}`));
}

const UNRECONCILED: readonly {
  what: string;
  holds: (object: LiveObject, known: Known) => boolean;
}[] = [
  { what: "is going", holds: ({ metadata }) => metadata.deletionTimestamp !== undefined },
  {
    what: "has lost its owner",
    holds: ({ metadata }, { uids }) => metadata.ownerReferences?.some(({ uid }) => !uids.has(uid)) ?? false,
  },
  {
    what: "has changed since it was looked at",
    holds: ({ metadata, status }) =>
      status?.["observedGeneration"] !== undefined && status["observedGeneration"] !== metadata.generation,
  },
  {
    what: "does not run yet",
    holds: ({ kind, spec, status }) => kind === "Deployment" && (status?.["readyReplicas"] ?? 0) !== spec?.["replicas"],
  },
  {
    what: "has met an unexpected error",
    holds: ({ status }) => listConditions(status ?? {}).some(({ reason }) => reason === "InternalError"),
  },
  { what: "has no status", holds: (object, known) => object.status === undefined && needsStatus(object, known) },
];

const CONDITION_FIELDS = ["type", "status", "reason", "message"];

function toLine(object: LiveObject, prefix: string): string {
  const { kind, metadata, status, rules, roleRef, subjects, data } = object;
  const { name, namespace, labels, annotations, finalizers, ownerReferences, deletionTimestamp } = metadata;
  const owners = ownerReferences?.map((owner) => `${owner.kind} ${owner.name}`);
  const shown = {
    kind,
    name,
    namespace,
    // An object that is going and never goes is a difference.
    ...(deletionTimestamp && { going: true }),
    labels,
    annotations,
    finalizers,
    owners,
    spec: kind === "Namespace" ? undefined : specOf(object),
    status: kind === "Deployment" || kind === "Namespace" || !status ? undefined : statusOf(object, status),
    rules,
    roleRef,
    subjects,
    data,
  };
  return scrub(JSON.stringify(shown, sorted), prefix);
}

function specOf({ kind, spec = {} }: LiveObject): unknown {
  if (kind === "Revision") {
    const { version: _version, description: _description, restart: _restart, ...rest } = spec;
    return rest;
  }
  if (kind === "Claim") {
    const { since: _since, ...rest } = spec;
    return rest;
  }
  if (kind === "Service") {
    const { clusterIP: _ip, clusterIPs: _ips, ...rest } = spec;
    return rest;
  }
  return spec;
}

function statusOf({ kind, spec }: LiveObject, status: Record<string, unknown>): unknown {
  if (kind === "Process" && isStopped(status)) return status["quota"] && { quota: status["quota"] };
  const { conditions, observedGeneration: _generation, observedRestart, ...rest } = status;
  // Two controllers that each write a condition do so in any order.
  const shownConditions = (conditions as Record<string, unknown>[] | undefined)
    ?.map((condition) => Object.fromEntries(CONDITION_FIELDS.map((field) => [field, condition[field]])))
    .toSorted((a, b) => String(a["type"]).localeCompare(String(b["type"])));
  // A stopped app tells here whether an earlier start was seen in time.
  const restarted =
    kind === "App" && spec?.["state"] === "Started" ? { isRestarted: observedRestart === spec["restart"] } : {};
  return { ...rest, ...restarted, conditions: kind === "PodDisruptionBudget" ? undefined : shownConditions };
}

/** The status of a stopped app's process tells whether it ever ran. */
function isStopped(status: Record<string, unknown>): boolean {
  return listConditions(status).some(({ type, reason }) => type === "Ready" && reason === "Stopped");
}

function listConditions({ conditions }: Record<string, unknown>): { type: string; reason: string }[] {
  return (conditions ?? []) as { type: string; reason: string }[];
}

function sorted(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Random, or made of what is random; and what a snapshot says of names and routes that go on changing after it. */
const SCRUBBED: readonly [RegExp, string][] = [
  [/"cupola\.dev\/app-name":"[^"]*"/g, '"cupola.dev/app-name":"<name>"'],
  [/"app":{"guid":"([^"]*)","name":"[^"]*"}/g, '"app":{"guid":"$1","name":"<name>"}'],
  [/\\"(application_name|name)\\":\\"[^"\\]*\\"/g, String.raw`\"$1\":\"<name>\"`],
  [/\\"(application_uris|uris)\\":\[[^\]]*\]/g, String.raw`\"$1\":[]`],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<guid>"],
  [/(org|space|app|route|domain)-[0-9a-f]{40}/g, "$1-<digest>"],
  [/-[0-9a-f]{20}(?=["/. ])/g, "-<guid>"],
  [/-env-[0-9a-f]{16}/g, "-env-<digest>"],
  [/-[0-9a-f]{10}(?=["/. ])/g, "-<hash>"],
  [/-[bcdfghjklmnpqrstvwxz2456789]{5}(?=["/. -])/g, "-<short>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z/g, "<time>"],
  [/"restart":"[^"]*"/g, '"restart":"<token>"'],
  [/"(cupola\.dev\/revision|revision)":"\d+"/g, '"$1":"<n>"'],
  [/-\d+-<hash>/g, "-<n>-<hash>"],
  [/revision \d+/g, "revision <n>"],
];

function scrub(text: string, prefix: string): string {
  return SCRUBBED.reduce((rest, [from, to]) => rest.replace(from, to), text).replaceAll(prefix, "<run>");
}

/** Lines of one that the other lacks, both ways; a line that is there twice counts twice. */
export function diffLines(
  wanted: readonly string[],
  found: readonly string[],
): { missing: string[]; surplus: string[] } {
  const rest = [...found];
  const missing = wanted.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
  return { missing, surplus: rest };
}

/** For a person: what is only there, only here, or differs, by object and field. */
export function explainDifference(missing: readonly string[], surplus: readonly string[]): string[] {
  const rest = [...surplus];
  const pairs = missing.map((line) => {
    const at = rest.findIndex((other) => titleOf(other) === titleOf(line));
    return [line, at < 0 ? undefined : rest.splice(at, 1)[0]] as const;
  });
  return [
    ...pairs.flatMap(([wanted, found]) =>
      found
        ? fieldsThatDiffer(JSON.parse(wanted), JSON.parse(found), "").map((field) => `  ${titleOf(wanted)}${field}`)
        : [`  ${titleOf(wanted)} is missing`],
    ),
    ...rest.map((line) => `  ${titleOf(line)} is too much: ${line.slice(0, 1500)}`),
  ];
}

function titleOf(line: string): string {
  const { kind, name, namespace } = JSON.parse(line) as { kind: string; name: string; namespace?: string };
  const { spec } = JSON.parse(line) as { spec?: { claimant?: { name: string }; claimed?: string } };
  return kind === "Claim" ? `Claim ${spec?.claimed} of ${spec?.claimant?.name}` : `${kind} ${namespace ?? ""}/${name}`;
}

function fieldsThatDiffer(wanted: unknown, found: unknown, path: string): string[] {
  if (JSON.stringify(wanted) === JSON.stringify(found)) return [];
  if (!isRecord(wanted) || !isRecord(found))
    return [` ${path}: calm ${JSON.stringify(wanted)}, chaos ${JSON.stringify(found)}`];
  return [...new Set([...Object.keys(wanted), ...Object.keys(found)])].flatMap((key) =>
    fieldsThatDiffer(wanted[key], found[key], `${path}.${key}`),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
