// A cluster that a hub joins, played in memory: the kinds that a hub reads and writes there, whose LRPs run as soon as they are written. It knows neither schemas nor policies.
import type { AddressInfo } from "node:net";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { wantedIndexes } from "../../../crds/lrp/index-pool.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { apiVersionOf } from "../../../kube/api/resource-ref.ts";

/** A write of an LRP. `at`: milliseconds since 1970. */
export interface SeenWrite {
  app: string;
  at: number;
}

export interface SimulatedSpoke {
  url: string;
  /** LRPs written since the last call. */
  takeWrites(): SeenWrite[];
  /** Writes of all kinds so far. */
  countWrites(): number;
  countConnections(): Promise<number>;
  lrps(): KubeObject[];
  /** All LRPs are gone, as after the loss of a cluster's data. */
  wipe(): void;
  /** Nothing is answered, and no watch hears anything, until it is set to false. */
  setBlackHole(isBlack: boolean): void;
  /** As if the first instance of an LRP of the app lost its readiness, or took it again. */
  flip(app: string): void;
}

interface Collection {
  plural: string;
  objects: Map<string, KubeObject>;
  watchers: Set<ServerResponse>;
  history: { version: number; line: string }[];
}

interface ChangeRequest {
  method: string;
  plural: string;
  key: string | undefined;
  pathname: string;
  searchParams: URLSearchParams;
  body: string;
}

/** More changes than happen between a list and its watch. */
const MAX_HISTORY = 10_000;
/** Kinds whose objects are kept; of others only the number of writes is. */
const STATEFUL = new Set(["lrps", "taskruns", "routebindings", "namespaces", "backendclasses"]);

export async function startSimulatedSpoke(name: string): Promise<SimulatedSpoke> {
  const spoke = new Spoke(name);
  const server = createServer((request, response) => void spoke.answer(request, response));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    takeWrites: () => spoke.seen.splice(0),
    countWrites: () => spoke.writes,
    countConnections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    lrps: () => [...spoke.collection("lrps").objects.values()],
    wipe: () => spoke.wipe(),
    setBlackHole: (isBlack) => spoke.setBlackHole(isBlack),
    flip: (app) => spoke.flip(app),
  };
}

class Spoke {
  readonly seen: SeenWrite[] = [];
  writes = 0;
  #version = 1;
  #isBlack = false;
  readonly #held: (() => void)[] = [];
  readonly #collections = new Map<string, Collection>();

  constructor(name: string) {
    const metadata = { name: "kube-system", uid: `uid-of-${name}` };
    this.#store("namespaces", "kube-system", { apiVersion: "v1", kind: "Namespace", metadata });
    this.#store("backendclasses", "runner", {
      apiVersion: apiVersionOf(BackendClass),
      kind: BackendClass.kind,
      metadata: { name: "runner", uid: "runner" },
      spec: { role: "runner", default: true },
      status: { capabilities: { indexes: "any" } },
    });
  }

  collection(plural: string): Collection {
    const known = this.#collections.get(plural);
    if (known) return known;
    const made: Collection = { plural, objects: new Map(), watchers: new Set(), history: [] };
    this.#collections.set(plural, made);
    return made;
  }

  setBlackHole(isBlack: boolean): void {
    this.#isBlack = isBlack;
    if (!isBlack) for (const go of this.#held.splice(0)) go();
  }

  wipe(): void {
    const { objects } = this.collection("lrps");
    for (const key of [...objects.keys()]) this.#remove("lrps", key);
  }

  flip(app: string): void {
    const found = [...this.collection("lrps").objects].find(([, one]) => (one as LRP).spec.app.name === app);
    const instances = found && (found[1] as LRP).status?.instances;
    if (!found || !instances) return;
    const [key, lrp] = found;
    const [first, ...rest] = instances;
    const flipped = first ? [{ ...first, ready: !first.ready }, ...rest] : rest;
    const runningInstances = flipped.filter(({ ready }) => ready).length;
    this.#store("lrps", key, { ...lrp, status: { ...(lrp as LRP).status, instances: flipped, runningInstances } });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (this.#isBlack) return void this.#held.push(() => this.#serve(request, response, body));
    this.#serve(request, response, body);
  }

  #serve({ method = "GET", url = "/" }: IncomingMessage, response: ServerResponse, body: string): void {
    if (response.destroyed) return;
    const { pathname, searchParams } = new URL(url, "http://x");
    const { plural, key } = parsePath(pathname);
    if (pathname === "/version") return send(response, 200, { gitVersion: "v1.34.0" });
    if (method !== "GET") return this.#change(response, { method, plural, key, pathname, searchParams, body });
    if (key === undefined) return this.#read(response, plural, searchParams);
    sendFound(response, this.collection(plural).objects.get(key));
  }

  #change(response: ServerResponse, given: ChangeRequest): void {
    const { method, plural, key, pathname, searchParams, body } = given;
    this.writes++;
    if (method === "DELETE") return sendFound(response, this.#remove(plural, key ?? ""));
    const draft = JSON.parse(body) as KubeObject;
    const at = key ?? keyOfDraft(draft, pathname);
    const manager = searchParams.get("fieldManager") ?? "";
    const written = STATEFUL.has(plural) ? this.#write(plural, at, { draft, manager }) : draft;
    send(response, method === "POST" ? 201 : 200, written);
  }

  #read(response: ServerResponse, plural: string, query: URLSearchParams): void {
    if (query.get("watch") === "true") return this.#watch(response, plural, Number(query.get("resourceVersion")));
    const items = [...this.collection(plural).objects.values()];
    send(response, 200, {
      kind: "List",
      apiVersion: "v1",
      metadata: { resourceVersion: String(this.#version) },
      items,
    });
  }

  #watch(response: ServerResponse, plural: string, from: number): void {
    const { history, watchers } = this.collection(plural);
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const { version, line } of history) if (version > from) response.write(line);
    watchers.add(response);
    response.on("close", () => watchers.delete(response));
  }

  #write(plural: string, key: string, given: { draft: KubeObject; manager: string }): KubeObject {
    const { draft, manager } = given;
    const old = this.collection(plural).objects.get(key);
    const { uid = crypto.randomUUID(), creationTimestamp = new Date().toISOString() } = old?.metadata ?? {};
    const fieldsV1 = toFields(draft);
    const managedFields = [
      { manager: manager ?? "", operation: "Apply" as const, apiVersion: draft.apiVersion ?? "", fieldsV1 },
    ];
    const metadata = { ...draft.metadata, uid, creationTimestamp, managedFields };
    const made = { ...draft, metadata, ...(old?.["status"] !== undefined && { status: old["status"] }) } as KubeObject;
    if (plural !== "lrps") return this.#store(plural, key, made);
    this.seen.push({ app: (made as LRP).spec.app.name, at: performance.timeOrigin + performance.now() });
    return this.#store(plural, key, { ...made, status: toStatus(made as LRP) });
  }

  #store(plural: string, key: string, object: KubeObject): KubeObject {
    const { objects } = this.collection(plural);
    const type = objects.has(key) ? "MODIFIED" : "ADDED";
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    objects.set(key, stored);
    this.#emit(plural, type, stored);
    return stored;
  }

  #remove(plural: string, key: string): KubeObject | undefined {
    const { objects } = this.collection(plural);
    const found = objects.get(key);
    if (!found) return undefined;
    objects.delete(key);
    const gone = { ...found, metadata: { ...found.metadata, resourceVersion: String(++this.#version) } };
    this.#emit(plural, "DELETED", gone);
    return gone;
  }

  #emit(plural: string, type: string, object: KubeObject): void {
    const { watchers, history } = this.collection(plural);
    const line = `${JSON.stringify({ type, object })}\n`;
    history.push({ version: this.#version, line });
    if (history.length > MAX_HISTORY) history.splice(0, MAX_HISTORY / 2);
    const tell = (): void => {
      for (const watcher of watchers) watcher.write(line);
    };
    if (this.#isBlack) this.#held.push(tell);
    else tell();
  }
}

/** All of an LRP's instances run, each as it did before. */
function toStatus({ spec, status }: LRP): object {
  const known = new Map((status?.instances ?? []).map((one) => [one.index, one]));
  const instances = wantedIndexes(spec).map(
    (index) => known.get(index) ?? { index, state: "Running", ready: true, guid: crypto.randomUUID() },
  );
  return { instances, runningInstances: instances.length };
}

/** `/api/v1/namespaces/NAMESPACE/secrets/NAME` and its kin. A namespace's own name is its key. */
function parsePath(path: string): { plural: string; key: string | undefined } {
  const parts = path.split("/").slice(path.startsWith("/api/") ? 3 : 4);
  const isInside = parts[0] === "namespaces" && parts.length > 2;
  const [plural = "", name] = isInside ? parts.slice(2) : parts;
  const key = isInside ? `${parts[1]}/${name}` : name;
  return { plural, key: name === undefined ? undefined : key };
}

function keyOfDraft({ metadata }: KubeObject, path: string): string {
  const namespace = /\/namespaces\/([^/]+)\/[^/]+$/.exec(path)?.[1];
  return namespace === undefined ? metadata.name : `${namespace}/${metadata.name}`;
}

/** As a server notes what was applied: the labels and annotations one by one, and each field of the spec whole. */
function toFields({ metadata, spec }: KubeObject): Record<string, unknown> {
  const each = (of: object | undefined): object =>
    Object.fromEntries(Object.keys(of ?? {}).map((key) => [`f:${key}`, {}]));
  const { labels, annotations } = metadata;
  return {
    "f:metadata": { "f:labels": each(labels), "f:annotations": each(annotations) },
    ...(spec !== undefined && { "f:spec": each(spec as object) }),
  };
}

function sendFound(response: ServerResponse, object: KubeObject | undefined): void {
  if (object) return send(response, 200, object);
  send(response, 404, {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code: 404,
    reason: "NotFound",
    message: "",
  });
}

function send(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
