// Collects what a support bundle holds, one file after the other, so that memory holds one list at a time. Failures become a file of their own.
import { DEFINITIONS } from "../../crds/definitions.ts";
import { EVENT_LOGS } from "../../crds/event-logs.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { LABELS } from "../../crds/labels.ts";
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  Event,
  Ingress,
  IngressClass,
  Job,
  Lease,
  Namespace,
  Pod,
  ReplicaSet,
  Role,
  RoleBinding,
  Secret,
  Service,
  StatefulSet,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient, ListOptions } from "../../kube/client/client.ts";
import { keepKubernetesFields, keepOwnFields } from "./allowed-fields.ts";
import { collectLogs } from "./collect-logs.ts";
import type { BundleFile, Source } from "./bundle-file.ts";
import { scrubText } from "./scrub-text.ts";

export interface CollectOptions {
  /** Only the objects of apps with this name. */
  app?: string;
  /** Logs and Events not older than this many seconds. */
  sinceSeconds: number;
  signal: AbortSignal;
}

const Node: ResourceRef = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
const CALL_DEADLINE_MS = 15_000;
/** Most objects of a kind; beyond it a list ends, and its file says so. */
const MAX_OBJECTS = 20_000;

interface Kept {
  ref: ResourceRef;
  folder: string;
  options?: ListOptions;
  keep?: (object: KubeObject) => boolean;
}

const OURS = { labelSelector: "app.kubernetes.io/name=cupola" };
const SYSTEM = { namespace: SYSTEM_NAMESPACE };
/** Objects that controllers made for tenants. */
const GENERATED = { labelSelector: LABELS.managedBy };
const isNamedOurs = ({ metadata }: KubeObject): boolean => /^cupola|cupola\.dev$/.test(metadata.name);

const KUBERNETES: readonly Kept[] = [
  { ref: Node, folder: "cluster" },
  { ref: IngressClass, folder: "cluster" },
  { ref: CustomResourceDefinition, folder: "cluster", keep: isNamedOurs },
  { ref: ClusterRole, folder: "cluster", keep: isNamedOurs },
  { ref: ClusterRoleBinding, folder: "cluster", keep: isNamedOurs },
  { ref: ValidatingAdmissionPolicy, folder: "cluster", keep: isNamedOurs },
  { ref: ValidatingAdmissionPolicyBinding, folder: "cluster", keep: isNamedOurs },
  { ref: Namespace, folder: "cluster", options: { labelSelector: LABELS.ownerUid } },
  ...[Deployment, ReplicaSet, Pod, Service, Ingress].map((ref) => ({
    ref,
    folder: "system",
    options: { ...SYSTEM, ...OURS },
  })),
  ...[Job, Lease, Role, RoleBinding].map((ref) => ({ ref, folder: "system", options: SYSTEM })),
  { ref: Secret, folder: "system", options: { ...SYSTEM, metadata: true } },
  ...[Deployment, StatefulSet, Pod, Job, Service, Ingress].map((ref) => ({
    ref,
    folder: "generated",
    options: GENERATED,
  })),
];

/** The files, as they are read; `errors.json` comes last. @throws KubeError when `app` is given, and apps cannot be listed */
export async function* collect(kube: KubeClient, options: CollectOptions): AsyncGenerator<BundleFile> {
  const errors: { file: string; error: string }[] = [];
  const call = { signal: options.signal, deadlineMs: CALL_DEADLINE_MS };
  const apps = options.app === undefined ? undefined : await findApps(kube, options.app, call);
  for (const { path, read } of [...listSources(kube, options, apps), ...(await collectLogs(kube, options))]) {
    try {
      yield { path, text: await read() };
    } catch (error) {
      errors.push({ file: path, error: scrubText(error instanceof Error ? error.message : String(error)) });
    }
  }
  yield { path: "errors.json", text: toText(errors) };
}

export function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

/** Names and GUIDs of the apps. */
type Apps = ReadonlySet<string>;

async function findApps(kube: KubeClient, name: string, call: ListOptions): Promise<Apps> {
  const App = DEFINITIONS.find(({ kind }) => kind === "App");
  const found = App ? (await kube.list(App, call)).items : [];
  const own = found.filter(({ metadata, spec }) => metadata.name === name || (spec as { name?: string }).name === name);
  return new Set(
    own.flatMap(({ metadata }) =>
      [metadata.labels?.[LABELS.guid], metadata.uid, metadata.name].filter((one) => one !== undefined),
    ),
  );
}

function listSources(kube: KubeClient, options: CollectOptions, apps: Apps | undefined): Source[] {
  const call = { signal: options.signal, deadlineMs: CALL_DEADLINE_MS };
  const isWanted = (object: KubeObject): boolean => !apps || belongsTo(object, apps);
  return [
    { path: "version.json", read: async () => toText(await kube.raw("GET", "/version", undefined, call)) },
    ...KUBERNETES.map(({ ref, folder, options: where, keep = () => true }) => ({
      path: `${folder}/${ref.plural}.json`,
      read: () =>
        readList(kube, ref, {
          options: { ...where, ...call },
          toKept: (object) =>
            keep(object) && (folder !== "generated" || isWanted(object)) ? keepKubernetesFields(object) : undefined,
        }),
    })),
    { path: "system/events.json", read: () => readEvents(kube, options) },
    ...DEFINITIONS.filter(({ kind }) => !EVENT_LOGS.has(kind)).map((definition) => ({
      path: `objects/${definition.plural}.json`,
      read: () =>
        readList(kube, definition, {
          options: call,
          toKept: (object) => (isWanted(object) ? keepOwnFields(definition, object) : undefined),
        }),
    })),
  ];
}

function belongsTo({ kind, metadata }: KubeObject, apps: Apps): boolean {
  const { labels = {}, uid = "", name } = metadata;
  if (kind === "App") return apps.has(uid) || apps.has(name);
  return [labels[LABELS.app], labels[LABELS.ownerUid], name.split(".")[0]].some(
    (one) => one !== undefined && apps.has(one),
  );
}

/** Events of the platform, and of namespaces of orgs and spaces: others on the cluster are none of ours. */
async function readEvents(kube: KubeClient, { signal, sinceSeconds }: CollectOptions): Promise<string> {
  const call = { signal, deadlineMs: CALL_DEADLINE_MS };
  const { items } = await kube.list(Namespace, { labelSelector: LABELS.ownerUid, metadata: true, ...call });
  const ours = new Set([SYSTEM_NAMESPACE, ...items.map(({ metadata }) => metadata.name)]);
  return readList(kube, Event, {
    options: call,
    toKept: (event) =>
      ours.has(event.metadata.namespace ?? "") && Date.now() - timeOf(event) <= sinceSeconds * 1000
        ? keepKubernetesFields(event)
        : undefined,
  });
}

function timeOf(event: KubeObject): number {
  const { lastTimestamp, eventTime } = event as { lastTimestamp?: string; eventTime?: string };
  return Date.parse(lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp ?? "");
}

async function readList(
  kube: KubeClient,
  ref: ResourceRef,
  { options, toKept }: { options: ListOptions; toKept: (object: KubeObject) => KubeObject | undefined },
): Promise<string> {
  const kept: KubeObject[] = [];
  let seen = 0;
  for await (const page of kube.pages(ref, options)) {
    for (const object of page.items) {
      const one = toKept(object);
      if (one) kept.push(one);
    }
    seen += page.items.length;
    if (seen >= MAX_OBJECTS) return toText({ items: kept, endsAfter: seen });
  }
  return toText({ items: kept });
}
