// A platform (API and controllers, no backends) on any Kubernetes API server, and one person for each role, who knocks at both doors: the CF API and Kubernetes.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { request } from "undici";
import { expect } from "vitest";
import { recordLastWrite } from "../../../api/cache/object-times.ts";
import { createApi } from "../../../api/server.ts";
import { createDirectoryStore } from "../../../blobs/directory/directory-store.ts";
import { OPEN_GATE } from "../../../controllers/shared/start-gate.ts";
import { createControllers } from "../../../controllers/controllers.ts";
import { API_FIELD_MANAGER } from "../../../crds/groups.ts";
import { PLATFORM_GROUP } from "../../../crds/platform-role.ts";
import {
  ADMIN_CLUSTER_ROLE,
  ADMIN_READ_ONLY_CLUSTER_ROLE,
  CF_ROLES,
  GLOBAL_AUDITOR_CLUSTER_ROLE,
  type CFRole,
} from "../../../crds/roles.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { startControllers } from "../../run-controllers.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { telemetryClient } from "../../../telemetry/telemetry-client.ts";
import { answerProblems } from "../api/answer-problems.ts";
import { fixtures } from "../api/fixtures.ts";
import { connect, type Answer, type Api as Kubernetes, type Json, type PatchType } from "../kubernetes/api.ts";
import { eventually } from "../../eventually.ts";

export const PLATFORM_ROLES = ["admin", "admin_read_only", "global_auditor"] as const;
export const CF_ROLE_NAMES = Object.keys(CF_ROLES) as CFRole[];
/** Everybody who takes part; each is called as their only role is. `partial` is given rights by tests. */
export const TEST_USERS = [...PLATFORM_ROLES, ...CF_ROLE_NAMES, "nobody", "partial"] as const;
export type TestUser = (typeof TEST_USERS)[number];

export interface Endpoint {
  url: string;
  ca: string;
  adminToken: string;
  restartControllers?(): Promise<void>;
  stop(): Promise<void>;
}

export interface TokenUser {
  token: string;
  user: string;
  groups: string[];
}

export interface ServerUnderTest {
  name: string;
  start(users: TokenUser[]): Promise<Endpoint>;
}

export interface CfResponse {
  status: number;
  json: Json;
  /** The header: the job of work that goes on. */
  location: string | undefined;
}

export interface TestEnv {
  /** A member of system:masters. */
  root: KubeClient;
  /** The same, and any person, with answers as they came. */
  kubernetes: Kubernetes;
  at(person: TestUser): Kubernetes;
  /** The CF API. */
  cf(person: TestUser, method: string, path: string, body?: unknown): Promise<CfResponse>;
  /** As `cf`, as admin; must succeed. */
  make(path: string, body: unknown, method?: string): Promise<Json>;
  stop(): Promise<void>;
}

/** The started environment; throws before it has started. */
export type GetTestEnv = () => TestEnv;

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
/** Token of the platform's own identity. */
export const PLATFORM_TOKEN = "platform-of-test";
const tokenOf = (person: string): string => `${person}-of-test`;
const RBAC = "rbac.authorization.k8s.io";

/** Users that Kubernetes must know by token. */
function users(): TokenUser[] {
  return [
    { token: PLATFORM_TOKEN, user: "cupola", groups: [PLATFORM_GROUP] },
    ...TEST_USERS.map((person) => ({ token: tokenOf(person), user: person, groups: [] })),
  ];
}

export async function startTestEnv(server: ServerUnderTest): Promise<TestEnv> {
  const disposables = new AsyncDisposableStack();
  const endpoint = await server.start(users());
  disposables.defer(() => endpoint.stop());
  const client = (token: string): KubeClient => {
    const made = createClient({
      server: endpoint.url,
      ca: endpoint.ca,
      auth: { kind: "token", token },
      fieldManager: API_FIELD_MANAGER,
    });
    disposables.defer(() => made.close());
    return made;
  };
  const root = client(endpoint.adminToken);
  await installManifests(root);
  await endpoint.restartControllers?.();
  await applyObjects(root, [...fixtures(), ...platformRoles()]);
  const url = await startPlatform(client(PLATFORM_TOKEN), disposables);
  const raw = connect(endpoint);
  disposables.defer(() => raw.close());
  const cf: TestEnv["cf"] = (person, method, path, body) =>
    call(`${url}${path}`, { method, token: tokenOf(person), body });
  // A domain is seen once the controllers have claimed its name.
  await eventually(async () => {
    const { json } = await cf("admin", "GET", "/v3/domains?names=apps.example");
    expect(json.resources).toHaveLength(1);
  });
  return {
    root,
    kubernetes: raw.api,
    at: (person) => raw.api.as({ token: tokenOf(person) }),
    cf,
    async make(path, body, method = "POST") {
      const { status, json } = await cf("admin", method, path, body);
      expect([path, status < 300, json.errors]).toEqual([path, true, undefined]);
      return json;
    },
    stop: () => disposables.disposeAsync(),
  };
}

const API_URL = "http://api.example";

async function startPlatform(own: KubeClient, disposables: AsyncDisposableStack): Promise<string> {
  const blobs = mkdtempSync(join(tmpdir(), "cupola-rights-"));
  disposables.defer(() => rmSync(blobs, { recursive: true, force: true }));
  const informers = createInformers({ client: own, log, transform: recordLastWrite });
  disposables.defer(() => informers.close());
  const controllers = startControllers(
    {
      client: own,
      controllers: createControllers({
        apiURL: API_URL,
        hasContent: () => Promise.resolve(true),
        startGate: OPEN_GATE,
      }),
      informers,
      log,
    },
    disposables,
  );
  const api = createApi({
    url: API_URL,
    client: own,
    informers,
    log,
    telemetry: telemetryClient({ endpoints: () => [] }),
    blobs: await createDirectoryStore(blobs),
  });
  await controllers.synced;
  if (!(await api.waitUntilReady(30_000))) throw new Error("the API did not see its data in 30 s");
  const listener = createServer(api.handler);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  disposables.defer(() => {
    listener.closeAllConnections();
    return new Promise((resolve) => listener.close(() => resolve()));
  });
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

async function call(
  url: string,
  { method, token, body }: { method: string; token: string; body: unknown },
): Promise<CfResponse> {
  const headers = {
    authorization: `bearer ${token}`,
    ...(body !== undefined && { "content-type": typeof body === "string" ? "application/x-yaml" : "application/json" }),
  };
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await request(url, {
    method: method as "GET",
    headers,
    ...(body !== undefined && { body: sent }),
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const text = await answer.body.text();
  const { statusCode: status } = answer;
  const location = answer.headers["location"]?.toString();
  const problems = answerProblems(method, new URL(url).pathname, {
    status,
    headers: new Headers(location === undefined ? {} : { location }),
    text,
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return { status, json: text.startsWith("{") ? JSON.parse(text) : {}, location };
}

/** Roles of the platform's own people: by ClusterRoleBinding, as an operator gives them. */
function platformRoles(): KubeObject[] {
  const roles = {
    admin: ADMIN_CLUSTER_ROLE,
    admin_read_only: ADMIN_READ_ONLY_CLUSTER_ROLE,
    global_auditor: GLOBAL_AUDITOR_CLUSTER_ROLE,
  };
  return Object.entries(roles).map(([user, name]) => ({
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: `test-${user.replaceAll("_", "-")}` },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
    subjects: [{ kind: "User", apiGroup: RBAC, name: user }],
  }));
}

/** `{ data: { guid } }`. */
export const to = (guid: string): object => ({ data: { guid } });

export interface OrgAndSpace {
  org: string;
  space: string;
  orgNamespace: string;
  spaceNamespace: string;
}

/** An org and a space in which everybody with a CF role holds theirs; in spaces CF wants a role in the org before. */
export async function makeOrgAndSpace(testEnv: TestEnv, name: string): Promise<OrgAndSpace> {
  const org = (await testEnv.make("/v3/organizations", { name })).guid;
  const space = (await testEnv.make("/v3/spaces", { name: "one", relationships: { organization: to(org) } })).guid;
  for (const role of CF_ROLE_NAMES) {
    const inOrg = role.startsWith("organization");
    await giveRole(testEnv, { role: inOrg ? role : "organization_user", user: role, scope: { organization: to(org) } });
    if (!inOrg) await giveRole(testEnv, { role, user: role, scope: { space: to(space) } });
  }
  const home = { org, space, orgNamespace: name, spaceNamespace: `${name}-one` };
  await untilRolesCount(testEnv, home);
  return home;
}

export async function giveRole(
  testEnv: TestEnv,
  { role, user, scope }: { role: string; user: string; scope: object },
): Promise<Json> {
  return testEnv.make("/v3/roles", { type: role, relationships: { user: to(user), ...scope } });
}

/** Rights by name follow from roles a moment later, and the real server's own cache comes after that. */
async function untilRolesCount(testEnv: TestEnv, home: OrgAndSpace): Promise<void> {
  const orgs = "/apis/cupola.dev/v1alpha1/orgs";
  for (const role of CF_ROLE_NAMES)
    await eventually(async () =>
      expect([role, (await testEnv.at(role).get(`${orgs}/${home.orgNamespace}`)).status]).toEqual([role, 200]),
    );
  const apps = `/apis/cupola.dev/v1alpha1/namespaces/${home.spaceNamespace}/apps`;
  for (const role of [
    "space_developer",
    "space_manager",
    "space_auditor",
    "space_supporter",
    "organization_manager",
  ] as const)
    await eventually(async () => expect([role, (await testEnv.at(role).get(apps)).status]).toEqual([role, 200]));
  const routes = apps.replace(/apps$/, "routes");
  await eventually(async () => expect((await testEnv.at("organization_auditor").get(routes)).status).toBe(200));
  const managed = (name: string, plural: string): string => `/apis/cupola.dev/v1alpha1/${plural}/${name}?dryRun=All`;
  const touch = { metadata: { annotations: { touched: "yes" } } };
  await eventually(async () =>
    expect(
      (await testEnv.at("organization_manager").patch("merge", managed(home.orgNamespace, "orgs"), touch)).status,
    ).toBe(200),
  );
  await eventually(async () =>
    expect(
      (
        await testEnv
          .at("space_manager")
          .patch("merge", managed("one", `namespaces/${home.orgNamespace}/spaces`), touch)
      ).status,
    ).toBe(200),
  );
}

export const base = "/apis/cupola.dev/v1alpha1";

/** Whether kubectl's write would pass, as far as the server's dry run says. */
export async function dryRun(
  kubernetes: Kubernetes,
  path: string,
  body: Json,
  type: PatchType = "merge",
): Promise<Answer> {
  return kubernetes.patch(type, `${path}?dryRun=All`, body);
}
