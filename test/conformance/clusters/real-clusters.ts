// Rights, classes, the chart, tokens of accounts, and an app, for a hub and a spoke on real kube-apiservers.
import { join } from "node:path";
import { expect } from "vitest";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { ClusterRole, Ingress, Role, RoleBinding, ServiceAccount } from "../../../kube/api/builtin.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { applyObjects, installManifests, waitUntilServed } from "../../../platform/install.ts";
import type { Operation } from "../../../platform/operations/operations.ts";
import { listOperationManifests, serviceAccountName } from "../../../platform/operations/permissions.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary } from "../../cluster/binaries.ts";
import type { Api as CFApi, Named } from "../../e2e/support/api.ts";
import { eventually } from "../../eventually.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "cupola");
const REFS: Record<string, ResourceRef> = { ServiceAccount, ClusterRole, Role, RoleBinding };
const IMAGE = "registry.example.org/shop@sha256:0000000000000000000000000000000000000000000000000000000000000000";
const CLASSES = [
  systemObject(BackendClass, "deployment", { role: "runner", default: true }),
  systemObject(BackendClass, "job", { role: "task-runner", default: true }),
  systemObject(BackendClass, "ingress", { role: "router", default: true }),
];

/** An account with the rights of all its operations, as where one process has several of them. */
export async function installHub(hub: KubeClient): Promise<void> {
  await installManifests(hub);
  const ours = new Set(["api", "controllers", "policies"].map((name) => serviceAccountName(name as Operation)));
  const account = { kind: "ServiceAccount", namespace: SYSTEM_NAMESPACE, name: serviceAccountName("controllers") };
  for (const object of listOperationManifests()) {
    const name = object.metadata.name.replace(/-secrets$/, "");
    const isBinding = object.kind.endsWith("Binding");
    const ref =
      REFS[object.kind] ??
      ({ ...RoleBinding, kind: "ClusterRoleBinding", plural: "clusterrolebindings", namespaced: false } as ResourceRef);
    // The controllers bind the roles of all operations in spaces, so all of them exist.
    if (!ours.has(name) && !object.metadata.name.endsWith("-secrets")) continue;
    await hub.apply(
      ref,
      { ...object, ...(isBinding && { subjects: [account] }) },
      { fieldManager: "person", force: true },
    );
  }
  await applyObjects(hub, [...CLASSES, systemObject(Domain, "apps.example.org", { name: "apps.example.org" })]);
}

/** After the chart. */
export async function installClasses(spoke: KubeClient): Promise<void> {
  await waitUntilServed(spoke, BackendClass);
  await applyObjects(spoke, CLASSES);
}

/** `home`: helm's folder. */
export async function runHelm(
  { kubeconfig, home }: { kubeconfig: string; home: string },
  verb: string,
  ...args: string[]
): Promise<{ code: number | null; output: string }> {
  const env = { KUBECONFIG: kubeconfig, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  return runCommand(
    [await provideBinary("helm"), verb, "cupola", CHART, "-n", SYSTEM_NAMESPACE, "--no-hooks", ...args],
    { cwd: home, deadlineMs: 120_000, env },
  );
}

/** A token of an account of the platform. */
export async function tokenOfAccount(client: KubeClient, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/cupola-${account}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  return ((await client.raw("POST", path, body)) as { status: { token: string } }).status.token;
}

/** `shop` of an image, with a variable; stopped. */
export async function makeApp(cf: CFApi, space: Named): Promise<Named> {
  const made = await cf.call("POST", "/v3/apps", {
    name: "shop",
    lifecycle: { type: "docker", data: {} },
    environment_variables: { COLOUR: "blue" },
    relationships: { space: { data: { guid: space.guid } } },
  });
  const pkg = await cf.call("POST", "/v3/packages", {
    type: "docker",
    data: { image: IMAGE },
    relationships: { app: { data: { guid: made.guid } } },
  });
  await eventually(async () =>
    expect(await cf.call<{ state: string }>("GET", `/v3/packages/${pkg.guid}`)).toMatchObject({ state: "READY" }),
  );
  const build = await cf.call("POST", "/v3/builds", { package: { guid: pkg.guid } });
  const droplet = await eventually(async () => {
    const found = await cf.call<{ state: string; droplet: Named | null }>("GET", `/v3/builds/${build.guid}`);
    expect(found).toMatchObject({ state: "STAGED" });
    return found.droplet?.guid;
  });
  await cf.call("PATCH", `/v3/apps/${made.guid}/relationships/current_droplet`, { data: { guid: droplet } });
  return made;
}

/** `dev` of the org `acme`, whose namespace is acme-dev. */
export async function makeSpace(cf: CFApi): Promise<Named> {
  const org = await cf.call("POST", "/v3/organizations", { name: "acme" });
  return cf.call("POST", "/v3/spaces", { name: "dev", relationships: { organization: { data: { guid: org.guid } } } });
}

/** Gives the app the host shop of the platform's domain. */
export async function mapRoute(cf: CFApi, app: Named): Promise<Named> {
  const [domain] = (await cf.call<{ resources: Named[] }>("GET", "/v3/domains")).resources;
  const { relationships } = await cf.call<{ relationships: { space: { data: Named } } }>("GET", `/v3/apps/${app.guid}`);
  const route = await cf.call("POST", "/v3/routes", {
    host: "shop",
    relationships: { space: relationships.space, domain: { data: { guid: domain?.guid } } },
  });
  await cf.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
  return route;
}

/** Waits for the Ingress of that host on the spoke. */
export async function untilServed(spoke: KubeClient, namespace: string): Promise<void> {
  await eventually(async () => {
    const { items } = await spoke.list(Ingress, { namespace });
    expect(items.flatMap(({ spec }) => spec?.rules?.map(({ host }) => host))).toEqual(["shop.apps.example.org"]);
  });
}
