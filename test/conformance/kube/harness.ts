// Shared by the rows: two kinds, clients that count writes, and controllers on demand.
import { pino } from "pino";
import { CustomResourceDefinition, Namespace } from "../../../kube/api/builtin.ts";
import type { KubeClient, RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { requestKind } from "../../../kube/testing/request-kind.ts";
import type { Controller, OwnershipMarkers } from "../../../kube/controller/controller.ts";
import type { Condition, KubeObject } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { runControllers, type ControllerRun } from "../../../kube/controller/run-controllers.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import { eventually } from "../../eventually.ts";

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
}

/** An API server under test. `issueClient` creates a client certificate that it accepts. */
export interface Server {
  name: string;
  start(): Promise<
    Endpoint & {
      stop(): Promise<void>;
      issueClient?(subject: { commonName: string; organizations?: string[] }): Promise<{ cert: string; key: string }>;
    }
  >;
}

/** Passed to every row. */
export interface Scene {
  readonly endpoint: Awaited<ReturnType<Server["start"]>>;
  /** A client with all permissions. */
  readonly client: KubeClient;
  /** The suite's namespace. */
  readonly ns: string;
  /** Starts controllers like one process and waits until they are synced; stopped after the row. */
  run(...controllers: Controller[]): Promise<RunningControllers>;
  gadget(name: string, spec?: GadgetSpec): Promise<Gadget>;
  /** Waits for a Ready condition of that status for the current generation. */
  ready(name: string, status?: string): Promise<Gadget>;
}

export interface GadgetSpec {
  text?: string;
  replicas?: number;
  target?: string;
  items?: string[];
}
export type Gadget = KubeObject & {
  spec: GadgetSpec;
  status?: { conditions?: Condition[]; observedGeneration?: number; [field: string]: unknown };
};

export const Gadget: ResourceRef<Gadget> = {
  group: "machinery.example",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets",
  namespaced: true,
};
export const Depot: ResourceRef<Gadget> = {
  group: "machinery.example",
  version: "v1",
  kind: "Depot",
  plural: "depots",
  namespaced: false,
};

export const platform: OwnershipMarkers = {
  fieldManagerPrefix: "test",
  ownerLabel: "machinery.example/owner-uid",
  controllerLabel: "machinery.example/controller",
  ownerAnnotation: "machinery.example/owner",
};

export const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export function connect(endpoint: Endpoint, onRequest?: (record: RequestRecord) => void): KubeClient {
  return createClient({
    server: endpoint.url,
    ca: endpoint.ca,
    auth: { kind: "token", token: endpoint.adminToken },
    fieldManager: "person",
    ...(onRequest && { onRequest }),
  });
}

/** Installs the two kinds and waits until they are served. */
export async function installKinds(client: KubeClient): Promise<void> {
  for (const ref of [Gadget, Depot])
    await client.apply(CustomResourceDefinition, toCrd(ref), { fieldManager: "person", force: true });
  for (const ref of [Gadget, Depot]) await eventually(() => client.list(ref));
}

function toCrd(ref: ResourceRef) {
  const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    metadata: { name: `${ref.plural}.${ref.group}` },
    spec: {
      group: ref.group,
      scope: ref.namespaced ? "Namespaced" : "Cluster",
      names: { plural: ref.plural, kind: ref.kind, singular: ref.kind.toLowerCase(), listKind: `${ref.kind}List` },
      versions: [
        {
          name: ref.version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: free, status: free } } },
        },
      ],
    },
  };
}

export interface RunningControllers extends ControllerRun {
  informers: Informers;
  /** Successful and failed writes of the controllers since the last `forget`, as `METHOD path`. */
  writes: string[];
  forget(): void;
  stop(): Promise<void>;
}

/** Client, informers and controllers of one process. */
export function start(endpoint: Endpoint, ...controllers: Controller[]): RunningControllers {
  const writes: string[] = [];
  const client = connect(endpoint, ({ method, path, code }) => {
    if (requestKind({ method, path }) === "write") writes.push(`${method} ${path.split("?")[0]} ${code}`);
  });
  const informers = createInformers({
    client,
    log,
    freeze: true,
    timing: { backoff: { minMs: 50, maxMs: 500, jitter: 0 }, parked: { minMs: 100, maxMs: 300, jitter: 0 } },
  });
  const stopping = new AbortController();
  const run = runControllers({
    client,
    controllers,
    informers,
    ownership: platform,
    signal: stopping.signal,
    log,
  });
  return {
    ...run,
    informers,
    writes,
    forget: () => void (writes.length = 0),
    async stop() {
      stopping.abort();
      await run.stopped;
      await informers.close();
      await client.close();
    },
  };
}

let counter = 0;

/** Creates a namespace for one test. */
export async function freshNamespace(client: KubeClient): Promise<string> {
  const name = `m-${process.pid}-${++counter}-${Date.now().toString(36)}`;
  await client.create(Namespace, { metadata: { name } });
  return name;
}

export function condition(object: Gadget | undefined, type = "Ready"): Condition | undefined {
  return object?.status?.conditions?.find((each) => each.type === type);
}
