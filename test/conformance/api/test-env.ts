// A CF API on an embedded cluster, with all controllers and no backends, and people with tokens who call it over HTTP.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { recordLastWrite } from "../../../api/cache/object-times.ts";
import { type Api, type ApiDeps, createApi } from "../../../api/server.ts";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import { OPEN_GATE } from "../../../controllers/shared/start-gate.ts";
import { createControllers } from "../../../controllers/controllers.ts";
import { API_FIELD_MANAGER } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import { ADMIN_CLUSTER_ROLE } from "../../../crds/roles.ts";
import type { KubeClient, RequestRecord } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { startApiServer } from "../../../local/apiserver/server.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { CONTROLLER_SETTINGS } from "../../../platform/operations/controller-settings.ts";
import { telemetryClient } from "../../../telemetry/telemetry-client.ts";
import { answerProblems } from "./answer-problems.ts";
import { undeclaredQuestions } from "../undeclared-questions.ts";
import { fixtures } from "./fixtures.ts";

/** An answer, with its JSON body (an empty object when there was none). */
export interface Answer {
  status: number;
  headers: Headers;
  // Bodies are what is under test; each test says what it expects of them.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  json: any;
  /** The body as it came. */
  text: string;
}

export interface Replica {
  api: Api;
  url: string;
  /** Calls as a person, by name; `body` is sent as JSON unless it is a string or bytes. */
  call(person: TestUser | undefined, method: string, path: string, body?: unknown): Promise<Answer>;
  /** As `call`, with headers of one's own and nothing added. */
  send(method: string, path: string, message: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
  /** Requests of this replica to the API server since `forget`, watches left out. */
  requests: RequestRecord[];
}

export type TestUser = "admin" | "ann" | "bob" | "carl";

export interface ApiTestEnv {
  /** Two replicas: what one writes, the other learns from watches alone. */
  replicas: [Replica, Replica];
  /** Full rights on the cluster, for looking behind the API. */
  kube: KubeClient;
  /** Starts another replica, with other settings. It ends with the world. */
  replica(name: string, options: Partial<ApiDeps>): Promise<Replica>;
  as(person: TestUser): KubeClient;
  cluster: { url: string; ca: string };
  /** PEM of a client certificate for a user. */
  issueClient(user: string): Promise<{ cert: string; key: string }>;
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const testUsers = ["admin", "ann", "bob", "carl"] as const;

/** A Kubernetes API that knows these tokens. */
export interface Cluster {
  url: string;
  ca: string;
  issueClient(user: string): Promise<{ cert: string; key: string }>;
  stop(): Promise<void>;
}

/** Users by token. */
export type Tokens = Map<string, { name: string; groups: string[] }>;

/** On the embedded server unless another is given. */
export async function startApiTestEnv(
  start: (tokens: Tokens, dir: string) => Promise<Cluster> = startEmbeddedCluster,
): Promise<ApiTestEnv> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-api-"));
  const tokens: Tokens = new Map(
    testUsers.map((name) => [`${name}-token`, { name, groups: ["system:authenticated"] }]),
  );
  tokens.set("root-token", { name: "root", groups: ["system:masters", "system:authenticated"] });
  tokens.set("platform-token", { name: "platform", groups: [PLATFORM_GROUP, "system:authenticated"] });
  const server = await start(tokens, dir);
  const connect = (token: string, onRequest?: (record: RequestRecord) => void): KubeClient =>
    createClient({
      server: server.url,
      ca: server.ca,
      auth: { kind: "token", token },
      fieldManager: API_FIELD_MANAGER,
      ...(onRequest && { onRequest }),
    });
  const kube = connect("root-token");
  await installManifests(kube);
  await applyObjects(kube, [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "admin" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: ADMIN_CLUSTER_ROLE },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "admin" }],
    },
    ...fixtures(),
  ]);
  const own = connect("platform-token");
  const informers = createInformers({ client: own, log, transform: recordLastWrite });
  const halt = new AbortController();
  const controllers = runControllers({
    client: own,
    controllers: createControllers({
      apiURL: "http://api.example",
      hasContent: () => Promise.resolve(true),
      startGate: OPEN_GATE,
    }),
    informers,
    ownership: CONTROLLER_SETTINGS,
    signal: halt.signal,
    log,
  });
  await controllers.synced;
  const replica = (name: string, options: Partial<ApiDeps> = {}): Promise<StartedReplica> =>
    startReplica((onRequest) => connect("platform-token", onRequest), join(dir, `blobs-${name}`), options);
  const started = await Promise.all(["1", "2"].map((name) => replica(name)));
  const [one, two] = started;
  if (!one || !two) throw new Error("two replicas were to be started");
  return {
    replicas: [one, two],
    kube,
    async replica(name, options) {
      const one = await replica(name, options);
      started.push(one);
      return one;
    },
    as: (person) => kube.as({ kind: "token", token: `${person}-token` }),
    cluster: { url: server.url, ca: server.ca },
    issueClient: (user) => server.issueClient(user),
    idle: () => controllers.idle(),
    async stop() {
      halt.abort();
      await controllers.stopped;
      for (const replica of started) await replica.stop();
      await informers.close();
      await Promise.all([own.close(), kube.close()]);
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function startEmbeddedCluster(tokens: Tokens, dir: string): Promise<Cluster> {
  const server = await startApiServer({ dir: join(dir, "kube"), port: 0, host: "127.0.0.1", tokens });
  return { ...server, issueClient: (user) => server.issueClient(user, []) };
}

type StartedReplica = Replica & { stop(): Promise<void> };

async function startReplica(
  connect: (onRequest: (record: RequestRecord) => void) => KubeClient,
  blobDir: string,
  options: Partial<ApiDeps>,
): Promise<StartedReplica> {
  const requests: RequestRecord[] = [];
  const client = connect((record) => {
    if (!record.path.includes("watch=true")) requests.push(record);
  });
  const informers = createInformers({ client, log, transform: recordLastWrite });
  const undeclared = undeclaredQuestions();
  const api = createApi({
    client,
    informers,
    log: undeclared.log,
    telemetry: telemetryClient({ endpoints: () => [] }),
    blobs: await createDirectoryStore(blobDir),
    ...options,
  });
  if (!(await api.waitUntilReady(30_000))) throw new Error("the API did not see its data in 30 s");
  const server = createServer({ maxHeaderSize: 64 * 1024 }, api.handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Calls, and throws when the endpoint asked what it does not declare. */
  const send: Replica["send"] = async (method, path, { body, headers = {} }) => {
    const answer = await judged(url, path, { method, body, headers });
    undeclared.requireNone();
    return answer;
  };
  return {
    api,
    url,
    requests,
    call: (person, method, path, body) =>
      send(method, path, { body, headers: person ? { authorization: `bearer ${person}-token` } : {} }),
    send,
    async stop() {
      await closed(server);
      await informers.close();
      await client.close();
    },
  };
}

/** Calls, and throws when the answer is not as the OpenAPI document says. */
async function judged(url: string, path: string, request: Parameters<typeof call>[1]): Promise<Answer> {
  const answer = await call(url + path, request);
  const problems = answerProblems(request.method, path, answer);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return answer;
}

async function call(
  url: string,
  { method, body, headers }: { method: string; body: unknown; headers: Record<string, string> },
): Promise<Answer> {
  const text =
    body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers,
    ...(text !== undefined && { body: text as string }),
    signal: AbortSignal.timeout(15_000),
  });
  const answer = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    json: answer.startsWith("{") ? JSON.parse(answer) : {},
  };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
