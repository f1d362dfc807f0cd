// A platform with a thousand apps in it: the API server in one process, the platform in another, the objects written as `kubectl` writes them.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { App } from "../../crds/app/app.ts";
import { Claim } from "../../crds/claim/claim.ts";
import { Org } from "../../crds/org/org.ts";
import { Process } from "../../crds/process/process.ts";
import { Space } from "../../crds/space/space.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import type { ObjectKey } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { LOCAL_ORG, LOCAL_SPACE, seedObjects, seedRoles, seedSpace } from "../../local/seed.ts";
import { applyObjects, installManifests } from "../../platform/install.ts";
import { LOCAL_OPERATIONS } from "../../platform/operations/operations.ts";
import type { ApiServerProcessOptions } from "./apiserver-process.ts";
import { type Child, startChild } from "./child-process.ts";
import type { PlatformProcessOptions, Requests } from "./platform-process.ts";
import type { ReadTarget } from "./reads.ts";
import { waitUntilStable, until } from "./until.ts";

export const APPS = 1000;

export interface ThousandApps extends ReadTarget {
  apiserver: Child;
  admin: KubeClient;
  /** Resolves when nobody writes any more. */
  rest(): Promise<void>;
  /** Bytes of live objects in the platform's process that the apps, and what belongs to them, added. */
  bytesAdded: number;
  /** Writes of the platform for each app until all was quiet. */
  writesPerApp: number;
  stop(): Promise<void>;
}

const PARALLEL = 16;

/** Starts both processes, makes the apps and waits until the controllers have nothing left to do. */
export async function startThousandApps(): Promise<ThousandApps> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-bench-"));
  const disposables: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of disposables.toReversed()) await end();
  };
  try {
    return { ...(await startIn(dir, disposables)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startIn(dir: string, disposables: (() => unknown)[]): Promise<Omit<ThousandApps, "stop">> {
  const token = (): string => randomBytes(24).toString("base64url");
  const tokens = { platform: token(), admin: token(), developer: token() };
  const apiserver = startChild(join(import.meta.dirname, "apiserver-process.ts"), {
    dir: join(dir, "kube"),
    tokens,
  } satisfies ApiServerProcessOptions);
  disposables.push(() => apiserver.stop());
  const access = await apiserver.request<PlatformProcessOptions["access"]>("access");
  const admin = createClient({ ...access, auth: { kind: "token", token: tokens.admin } });
  disposables.push(() => admin.close());
  await installManifests(admin);
  const platform = startChild(join(import.meta.dirname, "platform-process.ts"), {
    access,
    token: tokens.platform,
    operations: LOCAL_OPERATIONS,
    data: join(dir, "data"),
  } satisfies PlatformProcessOptions);
  disposables.push(() => platform.stop());
  const url = await platform.request<string>("url");
  const namespace = await makeSpace(admin);
  const rest = (): Promise<void> =>
    waitUntilStable(
      () => platform.request("idle"),
      () => apiserver.request("version"),
    );
  await rest();
  const before = {
    bytes: await platform.request<number>("memory"),
    requests: await platform.request<Requests>("requests"),
  };
  await makeApps(admin, namespace);
  await rest();
  const after = {
    bytes: await platform.request<number>("memory"),
    requests: await platform.request<Requests>("requests"),
  };
  return {
    apiserver,
    admin,
    rest,
    platform,
    url,
    token: tokens.developer,
    apps: APPS,
    bytesAdded: after.bytes - before.bytes,
    writesPerApp: (after.requests.writes - before.requests.writes) / APPS,
  };
}

/** The first org and space of a laptop, with the developer's roles. Its namespace. */
async function makeSpace(admin: KubeClient): Promise<string> {
  await applyObjects(admin, seedObjects());
  const orgNamespace = await namespaceOf(admin, Org, { name: LOCAL_ORG });
  await applyObjects(admin, [seedSpace(orgNamespace)]);
  const namespace = await namespaceOf(admin, Space, { namespace: orgNamespace, name: LOCAL_SPACE });
  await applyObjects(admin, seedRoles(orgNamespace, namespace));
  return namespace;
}

async function namespaceOf(admin: KubeClient, ref: ResourceRef, key: ObjectKey): Promise<string> {
  const find = async (): Promise<string | undefined> =>
    ((await admin.get(ref, key)) as { status?: { namespace?: string } }).status?.namespace;
  await until(async () => (await find()) !== undefined, `${ref.kind} ${key.name} has no namespace`);
  return (await find()) as string;
}

/** Claims, web processes and GUIDs are left to the controllers, as for anything that `kubectl` makes. */
async function makeApps(admin: KubeClient, namespace: string): Promise<void> {
  const limit = pLimit(PARALLEL);
  const names = Array.from({ length: APPS }, (_, at) => `app-${String(at).padStart(4, "0")}`);
  await Promise.all(
    names.map((name) => limit(() => admin.create(App, { metadata: { name, namespace }, spec: { name } }))),
  );
  const count = async (ref: ResourceRef, prefix = ""): Promise<number> =>
    (await admin.list(ref as ResourceRef)).items.filter((object) => object.metadata.name.startsWith(prefix)).length;
  await until(
    async () => (await count(Process)) === APPS && (await count(Claim, "app-")) === APPS,
    "the controllers did not finish the apps",
  );
}
