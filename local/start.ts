// Starts a whole Cloud Foundry in this process: the embedded API server, then the platform on it, as it would run on any cluster.
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { KubeClient } from "../kube/client/client.ts";
import { createClient } from "../kube/client/create-client.ts";
import { kubeconfigText } from "../kube/client/kubeconfig-text.ts";
import { isDiskFull } from "../kube/server/disk-full.ts";
import type { ObjectKey } from "../kube/api/object.ts";
import type { ResourceRef } from "../kube/api/resource-ref.ts";
import { listManifests } from "../crds/manifests.ts";
import { LRP } from "../crds/lrp/lrp.ts";
import { BackendClass } from "../crds/backend-class/backend-class.ts";
import { Org } from "../crds/org/org.ts";
import { PLATFORM_GROUP } from "../crds/platform-role.ts";
import { Space } from "../crds/space/space.ts";
import { Stack } from "../crds/stack/stack.ts";
import { applyObjects, installManifests } from "../platform/install.ts";
import { LOCAL_OPERATIONS } from "../platform/operations/operations.ts";
import type { PlatformOptions } from "../platform/platform-options.ts";
import { startPlatform } from "../platform/platform.ts";
import { startApiServer, type ApiServer } from "./apiserver/server.ts";
import { readBuildSettings } from "./build-settings.ts";
import { findDisplacedApps, type DisplacedApp } from "./displaced-apps.ts";
import type { Ports } from "./ports.ts";
import { createDoOnce, type DoOnce } from "./do-once.ts";
import { cupolaVersion } from "../platform/version.ts";
import { refuseNewerHome } from "./version.ts";
import { startHereClusters } from "./here-clusters.ts";
import { startHereServices } from "./here-services.ts";
import { clearRunning, makeHome, readState, writeRunning, writeState, type Home } from "./home.ts";
import { bundledBuildpacks } from "../backends/builders/host/bundled-buildpacks.ts";
import {
  DEVELOPER,
  LOCAL_ORG,
  LOCAL_SPACE,
  seedBuildpacks,
  LOCAL_ROUTER,
  planTCPPorts,
  seedObjects,
  seedSubstituteStacks,
  seedRoles,
  seedSpace,
  seedTaskRunner,
} from "./seed.ts";

export interface LocalOptions {
  home: Home;
  /** The CF API and the apps. 0: any free port. */
  port: number;
  /** The Kubernetes API. 0: any free port. */
  kubePort: number;
  log: Logger;
  /** Called with each step of the start. */
  progress: (step: string) => void;
}

export interface LocalCluster {
  url: string;
  kubeUrl: string;
  doOnce: DoOnce;
  /** Apps that must be built again, since the home was moved. */
  displaced: readonly DisplacedApp[];
  /** Ends instances, too: a laptop's apps stop with it. */
  stop(): Promise<void>;
}

const SEED_DEADLINE_MS = 30_000;
const HOST = "127.0.0.1";

/** Starts and waits until ready. @throws Error that says what to do, for example when a port is taken; nothing is left running then */
export async function startLocal(options: LocalOptions): Promise<LocalCluster> {
  const disposables = new AsyncDisposableStack();
  try {
    return await start(options, disposables);
  } catch (error) {
    await disposables.disposeAsync();
    throw isDiskFull(error)
      ? new Error(`the disk of ${options.home.dir} is full. Free some space, then start again`, { cause: error })
      : error;
  }
}

async function start(options: LocalOptions, disposables: AsyncDisposableStack): Promise<LocalCluster> {
  const { home, progress } = options;
  makeHome(home);
  const tokens = readOrCreateTokens(home);
  progress("Starting the Kubernetes API");
  const server = await startKubernetes(options, tokens);
  disposables.defer(() => server.stop());
  const access = { server: server.url, ca: server.ca };
  const admin = createClient({ ...access, auth: { kind: "token", token: tokens.admin } });
  disposables.defer(() => admin.close());
  const doOnce = createDoOnce(admin);
  await install(doOnce, admin, progress);
  const services = await startHereServices({ home, admin, log: options.log });
  // After the apps that use them.
  disposables.defer(() => services.stop());
  progress("Starting the platform");
  const platform = await startPlatform(platformOptions(options, { ...access, token: tokens.platform }));
  disposables.defer(() => platform.stop({ instances: "end" }));
  await seedOnce(doOnce, admin);
  const clusters = await startHereClusters({ home, admin, hub: access, log: options.log });
  disposables.defer(() => clusters.stop());
  writeKubeconfig(home, access, tokens);
  const ports = { port: portOf(platform.url), kubePort: portOf(server.url) };
  const id = remember(home, ports);
  const displaced = findDisplacedApps((await admin.list(LRP)).items, join(home.data, "droplets"));
  await writeRunning(home, {
    url: platform.url,
    kubeUrl: server.url,
    ...ports,
    id,
    startedAt: new Date().toISOString(),
    path: process.env["PATH"] ?? "",
  });
  const stop = async (): Promise<void> => {
    await disposables.disposeAsync();
    clearRunning(home);
  };
  return { url: platform.url, kubeUrl: server.url, doOnce, displaced, stop };
}

function writeKubeconfig(home: Home, access: { server: string; ca: string }, { admin, developer }: Tokens): void {
  const users = [
    { name: "admin", token: admin },
    { name: DEVELOPER, token: developer },
  ];
  writeFileSync(home.kubeconfig, kubeconfigText({ ...access, users }), { mode: 0o600 });
}

/** Objects of a new home, and those that homes of older versions lack. */
async function seedOnce(doOnce: DoOnce, admin: KubeClient): Promise<void> {
  // Once: what a person deletes of it stays deleted.
  await doOnce("seeded", "true", () => seed(admin));
  // A version with other buildpacks adds them to a home of an older one.
  await doOnce("buildpacks", bundledBuildpacks.join(), () => applyObjects(admin, seedBuildpacks()));
  // Homes of versions without it have no cflinuxfs4.
  await doOnce("substitute-stacks", "true", () => addSubstituteStacks(admin));
  // Homes of versions without TCP routes have no ports for them.
  await doOnce("tcp-ports", "true", () => addTCPPorts(admin));
  // Homes of versions without tasks have none.
  await doOnce("task-runner", "true", () => applyObjects(admin, [seedTaskRunner()]));
}

/** The ports, for the next start. Returns the id of the home. */
function remember(home: Home, ports: Ports): string {
  const state = readState(home);
  const id = state.id ?? randomUUID();
  writeState(home, { ...state, id, ports });
  return id;
}

/** By `localhost` clients read the kubeconfig. The address is for clients that do not resolve names below `localhost`. */
const TOKEN_LOGIN_HOSTS = ["login.localhost", "127.0.0.1"];

/** Another where it is taken: cf reads the address at each login. */
const SSH_PORT = 2222;

/** A laptop's disk is small, and its uploads take seconds: two minutes are enough for the object that names a content to follow it. */
const UNUSED_CONTENT_MS = 2 * 60_000;

function platformOptions(
  { home, port, log }: LocalOptions,
  { token, ...access }: { server: string; ca: string; token: string },
): PlatformOptions {
  return {
    access: { ...access, auth: { kind: "token", token } },
    operations: LOCAL_OPERATIONS,
    data: home.data,
    buildSettings: readBuildSettings(process.env, homedir(), existsSync),
    dockerFolder: process.env["DOCKER_CONFIG"] ?? join(homedir(), ".docker"),
    unusedContentMs: UNUSED_CONTENT_MS,
    listen: { host: HOST, port },
    ssh: { listen: { host: HOST, port: port === 0 ? 0 : SSH_PORT } },
    login: { tokenLoginHosts: TOKEN_LOGIN_HOSTS },
    // Only one process leads on this API server: after a crash it takes its own Leases back at once.
    leaderIdentity: "laptop",
    shutdown: { drainMs: 1_000 },
    log,
  };
}

type Tokens = Record<"platform" | "admin" | "developer", string>;

async function startKubernetes({ home, kubePort, log }: LocalOptions, tokens: Tokens): Promise<ApiServer> {
  const users = new Map([
    [tokens.platform, { name: "cupola", groups: [PLATFORM_GROUP] }],
    [tokens.admin, { name: "admin", groups: ["system:masters"] }],
    [tokens.developer, { name: DEVELOPER, groups: [] }],
  ]);
  try {
    return await startApiServer({
      dir: home.kube,
      host: HOST,
      port: kubePort,
      tokens: users,
      onError: (err) => log.error({ err }, "Kubernetes API"),
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause;
    throw new Error(`port ${kubePort} is taken by another program; choose another with --kube-port`, { cause });
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** The tokens of the three users; made at the first start. @throws Error when a newer Cupola has run here */
function readOrCreateTokens(home: Home): Tokens {
  const state = readState(home);
  const version = cupolaVersion();
  refuseNewerHome(home.dir, { version, newestVersion: state.version });
  const known = state.tokens ?? {};
  const token = (name: string): string => known[name] ?? randomBytes(24).toString("base64url");
  const tokens = { platform: token("platform"), admin: token("admin"), developer: token("developer") };
  writeState(home, { ...state, tokens, version });
  return tokens;
}

/** Kinds, roles and policies, when they are not those of this version already. */
async function install(doOnce: DoOnce, admin: KubeClient, progress: (step: string) => void): Promise<void> {
  const digest = createHash("sha256").update(JSON.stringify(listManifests())).digest("hex");
  await doOnce("installed", digest, () => {
    progress("Installing kinds, roles and policies");
    return installManifests(admin);
  });
}

async function addSubstituteStacks(admin: KubeClient): Promise<void> {
  const { items } = await admin.list(Stack);
  await applyObjects(admin, seedSubstituteStacks(items));
}

async function addTCPPorts(admin: KubeClient): Promise<void> {
  const router = await admin.find(BackendClass, { name: LOCAL_ROUTER });
  const parameters = router && planTCPPorts(router);
  if (parameters) await admin.patch(BackendClass, router.metadata, { type: "merge", body: { spec: { parameters } } });
}

async function seed(admin: KubeClient): Promise<void> {
  await applyObjects(admin, seedObjects());
  const orgNamespace = await waitForNamespace(admin, Org, { name: LOCAL_ORG });
  await applyObjects(admin, [seedSpace(orgNamespace)]);
  const spaceNamespace = await waitForNamespace(admin, Space, { namespace: orgNamespace, name: LOCAL_SPACE });
  await applyObjects(admin, seedRoles(orgNamespace, spaceNamespace));
}

/** The namespace that a controller made for an Org or a Space. */
async function waitForNamespace(
  admin: KubeClient,
  ref: ResourceRef<Org> | ResourceRef<Space>,
  key: ObjectKey,
): Promise<string> {
  const deadline = Date.now() + SEED_DEADLINE_MS;
  for (;;) {
    const found = await admin.get<Org | Space>(ref as ResourceRef<Org | Space>, key);
    if (found.status?.namespace) return found.status.namespace;
    if (Date.now() > deadline)
      throw new Error(`${ref.kind} ${key.name} got no namespace in ${SEED_DEADLINE_MS / 1000} s: see the log`);
    await delay(20);
  }
}
