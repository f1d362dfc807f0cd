// A cluster of mode pull as if it could be called: reads come from its Works and from its agent's report, writes become Works. Nothing here calls the cluster.
import { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { Cluster, type AgentReport } from "../../crds/cluster/cluster.ts";
import { FACTS_CONFIG, toFactsData } from "../../crds/cluster/spoke-facts.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { AGENT_LEASE, clusterNamespace, secretCopyName, WORK_KIND_LABEL, workName } from "../../crds/work/names.ts";
import { MAX_MANIFEST_BYTES, toRemoteObject, toWork, WORK_KINDS } from "../../crds/work/remote-object.ts";
import { Work } from "../../crds/work/work.ts";
import { ConfigMap, Lease, Namespace, Secret } from "../../kube/api/builtin.ts";
import type { KubeList, KubeObject, ObjectKey } from "../../kube/api/object.ts";
import { resourceId, type ResourceRef } from "../../kube/api/resource-ref.ts";
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  Draft,
  KubeClient,
  ListOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { toLeaseAge } from "./lease-age.ts";

export interface WorkClientOptions {
  /** The platform's own cluster. Its owner closes it. */
  hub: KubeClient;
  cluster: string;
  /** The field manager, as in RemoteMarkers. */
  manager: string;
  /** How long a Lease counts that its agent does not renew. */
  silentMs: number;
  now?: () => Date;
}

export function createWorkClient(options: WorkClientOptions): KubeClient {
  const works = new Works(options);
  const agent = new Agent(options);
  const list = async <T extends KubeObject>(ref: ResourceRef<T>, call: ListOptions = {}): Promise<KubeList<T>> =>
    (isClass(ref) ? await agent.listClasses() : await works.list(ref, call)) as KubeList<T>;
  const find = async <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, call?: CallOptions) =>
    (await (isFacts(ref, key) ? agent.findFacts() : works.find(ref, key, call))) as T | undefined;
  const apply: KubeClient["apply"] = <T extends KubeObject>(ref: ResourceRef<T>, object: Draft, call: ApplyOptions) =>
    (call.force ? works.update(ref, object, call) : works.create(ref, object, call)) as Promise<T>;
  return {
    server: options.hub.server,
    find,
    list,
    apply,
    async get<T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, call?: CallOptions) {
      const isIdentity = resourceId(ref) === resourceId(Namespace) && key.name === "kube-system";
      const found = isIdentity ? await agent.identify() : await find(ref, key, call);
      if (!found) throw toNotFound(ref, key.name);
      return found as T;
    },
    async *pages<T extends KubeObject>(ref: ResourceRef<T>, call?: ListOptions) {
      yield await list(ref, call);
    },
    watch: <T extends KubeObject>(ref: ResourceRef<T>, call: WatchOptions = {}) =>
      (isClass(ref) ? agent.watchClasses(call) : works.watch(ref, call)) as AsyncIterable<WatchEvent<T>>,
    create: <T extends KubeObject>(ref: ResourceRef<T>, object: Draft, call?: CallOptions) =>
      works.create(ref, object, call) as Promise<T>,
    delete: <T extends KubeObject>(ref: ResourceRef<T>, key: ObjectKey, call?: DeleteOptions) =>
      works.remove(ref, key, call) as Promise<T>,
    async raw(method, path) {
      if (method !== "GET" || path !== "/version") throw toUnsupported(`${method} ${path}`);
      return agent.requireAlive();
    },
    ...UNSUPPORTED,
    renew: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

const refuse = (what: string) => () => Promise.reject(toUnsupported(what));

const UNSUPPORTED = {
  update: refuse("update"),
  updateStatus: refuse("updateStatus"),
  patch: refuse("patch"),
  review: refuse("review"),
  stream: refuse("logs and stats"),
  webSocket: refuse("webSocket"),
  as: () => {
    throw toUnsupported("as");
  },
};

function isFacts(ref: ResourceRef, { namespace, name }: ObjectKey): boolean {
  return resourceId(ref) === resourceId(ConfigMap) && namespace === SYSTEM_NAMESPACE && name === FACTS_CONFIG;
}

function isClass(ref: ResourceRef): boolean {
  return resourceId(ref) === resourceId(BackendClass);
}

/** The objects that its Works hold. */
class Works {
  readonly #options: WorkClientOptions;
  readonly #namespace: string;

  constructor(options: WorkClientOptions) {
    this.#options = options;
    this.#namespace = clusterNamespace(options.cluster);
  }

  async list(ref: ResourceRef, call: ListOptions): Promise<KubeList<KubeObject>> {
    const { items, ...list } = await this.#options.hub.list(Work, { ...call, ...this.#select(ref, call) });
    return { ...list, items: items.flatMap((work) => this.#present(work) ?? []) };
  }

  async *watch(ref: ResourceRef, call: WatchOptions): AsyncIterable<WatchEvent> {
    const selected = { ...call, ...this.#select(ref, call), metadata: undefined };
    for await (const event of this.#options.hub.watch(Work, selected)) {
      if (event.type === "BOOKMARK" || event.type === "ERROR") yield event;
      else {
        const object = this.#present(event.object);
        if (object) yield { type: event.type, object };
      }
    }
  }

  async find(ref: ResourceRef, key: ObjectKey, call?: CallOptions): Promise<KubeObject | undefined> {
    const work = await this.#options.hub.find(Work, this.#keyOf(ref, key), call);
    return work && this.#present(work);
  }

  async create(ref: ResourceRef, object: Draft, call: CallOptions = {}): Promise<KubeObject> {
    if (resourceId(ref) === resourceId(Secret)) return this.#createSecret(object, call);
    const { hub, cluster } = this.#options;
    requireWorkKind(ref);
    requireSmall(ref, object);
    return this.#require(await hub.create(Work, toWork(cluster, ref, object), this.#writeOf(call)));
  }

  /** Replaces the whole object: fields of an earlier one go. */
  async update(ref: ResourceRef, object: Draft, call: CallOptions = {}): Promise<KubeObject> {
    const { hub, cluster } = this.#options;
    requireWorkKind(ref);
    requireSmall(ref, object);
    const { metadata, spec } = toWork(cluster, ref, object) as Draft & { spec: { manifest: unknown } };
    const key = { namespace: this.#namespace, name: metadata.name ?? "" };
    const body = [
      { op: "replace", path: "/spec/manifest", value: spec.manifest },
      ...keeping(await hub.get(Work, key, callOf(call))),
    ];
    return this.#require(await hub.patch(Work, key, { type: "json", body }, this.#writeOf(call)));
  }

  /** The agent removes the object of a Work that says so, and of no other. */
  async remove(ref: ResourceRef, key: ObjectKey, call: DeleteOptions = {}): Promise<KubeObject> {
    const { hub } = this.#options;
    const at = this.#keyOf(ref, key);
    const uid = call.preconditions?.uid;
    const body = { metadata: { ...(uid !== undefined && { uid }) }, spec: { remove: true } };
    const told = await hub.patch(Work, at, { type: "merge", body }, this.#writeOf(call));
    await hub.delete(Work, at, { ...callOf(call), preconditions: { uid: told.metadata.uid ?? "" } });
    return told;
  }

  #createSecret(object: Draft, call: CallOptions): Promise<KubeObject> {
    const { name = "", namespace, labels } = object.metadata;
    const metadata = {
      namespace: this.#namespace,
      name: secretCopyName({ namespace, name }),
      ...(labels && { labels }),
    };
    return this.#options.hub.create(Secret, { ...object, metadata }, this.#writeOf(call));
  }

  #writeOf(call: CallOptions): WriteOptions {
    return { ...callOf(call), fieldManager: this.#options.manager };
  }

  #select(ref: ResourceRef, { labelSelector }: ListOptions): Pick<ListOptions, "namespace" | "labelSelector"> {
    requireWorkKind(ref);
    const kind = `${WORK_KIND_LABEL}=${ref.kind}`;
    return {
      namespace: this.#namespace,
      labelSelector: labelSelector === undefined ? kind : `${labelSelector},${kind}`,
    };
  }

  #keyOf(ref: ResourceRef, key: ObjectKey): ObjectKey {
    requireWorkKind(ref);
    return { namespace: this.#namespace, name: workName(ref.kind, key) };
  }

  #present(work: Work): KubeObject | undefined {
    return toRemoteObject(work, this.#options.manager);
  }

  #require(work: Work): KubeObject {
    const object = this.#present(work);
    if (object) return object;
    throw new KubeError({ code: 422, reason: "Invalid", message: `Work ${work.metadata.name} holds no object` });
  }
}

/** @throws KubeError for a kind that no Work holds */
function requireWorkKind(ref: ResourceRef): void {
  if (!WORK_KINDS.some((one) => resourceId(one) === resourceId(ref))) throw toUnsupported(`kind ${ref.kind}`);
}

/** The object of a Work is to stay whose deletion was said and has not begun. One that is being deleted ends all the same. */
function keeping({ metadata, spec }: Work): Record<string, unknown>[] {
  if (!spec.remove || metadata.deletionTimestamp !== undefined) return [];
  return [
    // Its deletion may begin now.
    { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
    { op: "replace", path: "/spec/remove", value: false },
  ];
}

function requireSmall(ref: ResourceRef, object: Draft): void {
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes <= MAX_MANIFEST_BYTES) return;
  throw new KubeError({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `${ref.kind} ${object.metadata.name ?? ""} has ${bytes} bytes, and a cluster of mode pull takes ${MAX_MANIFEST_BYTES}: give the app fewer or shorter variables`,
  });
}

/** Other options are about the object on its cluster. */
function callOf({ signal, deadlineMs }: CallOptions): CallOptions {
  return { ...(signal && { signal }), ...(deadlineMs !== undefined && { deadlineMs }) };
}

function toNotFound({ kind }: ResourceRef, name: string): KubeError {
  return new KubeError({
    code: 404,
    reason: "NotFound",
    message: `${kind} ${name} not found`,
    details: { name, kind },
  });
}

function toUnsupported(what: string): KubeError {
  return new KubeError({ code: 405, reason: "MethodNotAllowed", message: `a cluster of mode pull has no ${what}` });
}

/** The word of its agent: who the cluster is, what it can run, and whether the agent is alive. */
class Agent {
  readonly #options: WorkClientOptions;
  readonly #age: ReturnType<typeof toLeaseAge>;

  constructor(options: WorkClientOptions) {
    this.#options = options;
    this.#age = toLeaseAge(options.now ?? (() => new Date()));
  }

  async identify(): Promise<KubeObject> {
    const { agent } = await this.#read();
    return { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid: agent.clusterUID } };
  }

  /** As the agent of a cluster that is called keeps them there. */
  async findFacts(): Promise<KubeObject> {
    const { agent } = await this.#read();
    const metadata = { namespace: SYSTEM_NAMESPACE, name: FACTS_CONFIG };
    return { apiVersion: "v1", kind: ConfigMap.kind, metadata, data: toFactsData(agent) } as KubeObject;
  }

  /** @throws KubeError without an answer while the Lease is too old, and a refusal when another cluster's agent has this place */
  async requireAlive(): Promise<{ gitVersion?: string }> {
    const { hub, cluster, silentMs } = this.#options;
    const [lease, { agent, known }] = await Promise.all([
      hub.find(Lease, { namespace: clusterNamespace(cluster), name: AGENT_LEASE }),
      this.#read(),
    ]);
    const ageMs = this.#age(lease?.spec?.renewTime);
    if (ageMs > silentMs)
      throw new KubeError({
        code: 0,
        reason: "Unreachable",
        message: Number.isFinite(ageMs)
          ? `its agent has not called for ${Math.round(ageMs / 1000)} s`
          : "its agent has not called yet",
      });
    if (known !== undefined && known !== agent.clusterUID)
      throw new KubeError({
        code: 403,
        reason: "Forbidden",
        message: `the agent of another cluster calls: the uid of its namespace kube-system is ${agent.clusterUID}, not ${known}`,
      });
    return agent.kubernetes === undefined ? {} : { gitVersion: agent.kubernetes };
  }

  async listClasses(): Promise<KubeList<KubeObject>> {
    const { hub, cluster } = this.#options;
    const { items, ...list } = await hub.list(Cluster, { namespace: SYSTEM_NAMESPACE, fieldSelector: nameIs(cluster) });
    return { ...list, items: items.flatMap(toClasses) };
  }

  /** Classes change with the report. */
  async *watchClasses({ labelSelector: _, metadata: __, ...call }: WatchOptions): AsyncIterable<WatchEvent> {
    const { hub, cluster } = this.#options;
    const known = new Map<string, { object: KubeObject; text: string }>();
    const selected = { ...call, namespace: SYSTEM_NAMESPACE, fieldSelector: nameIs(cluster) };
    for await (const event of hub.watch(Cluster, selected)) {
      if (event.type === "BOOKMARK" || event.type === "ERROR") {
        yield event;
        continue;
      }
      const classes = event.type === "DELETED" ? [] : toClasses(event.object);
      yield* toClassEvents(known, classes);
    }
  }

  async #read(): Promise<{ agent: AgentReport; known: string | undefined }> {
    const { hub, cluster } = this.#options;
    const { status } = await hub.get(Cluster, { namespace: SYSTEM_NAMESPACE, name: cluster });
    if (status?.agent) return { agent: status.agent, known: status.clusterUID };
    throw new KubeError({ code: 0, reason: "Unreachable", message: "its agent has not called yet" });
  }
}

function nameIs(name: string): string {
  return `metadata.name=${name}`;
}

function toClasses({ metadata, status }: Cluster): KubeObject[] {
  return (status?.agent?.classes ?? []).map(({ role, name, capabilities }) => ({
    apiVersion: `${BackendClass.group}/${BackendClass.version}`,
    kind: BackendClass.kind,
    metadata: { name, uid: `${metadata.uid}/${role}/${name}`, resourceVersion: metadata.resourceVersion ?? "" },
    spec: { role, default: false },
    status: capabilities ? { capabilities } : {},
  }));
}

function* toClassEvents(
  known: Map<string, { object: KubeObject; text: string }>,
  classes: readonly KubeObject[],
): Generator<WatchEvent> {
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  for (const [name, { object }] of known) if (!names.has(name) && known.delete(name)) yield { type: "DELETED", object };
  for (const object of classes) {
    const { metadata, ...rest } = object;
    const text = JSON.stringify(rest);
    const before = known.get(metadata.name);
    known.set(metadata.name, { object, text });
    if (before?.text !== text) yield { type: before ? "MODIFIED" : "ADDED", object };
  }
}
