// Objects of our kinds for unit tests, as a server returns them: defaults are filled in.
import { App } from "../app/app.ts";
import { BackendClass } from "../backend-class/backend-class.ts";
import { Build } from "../build/build.ts";
import { Domain } from "../domain/domain.ts";
import { Droplet } from "../droplet/droplet.ts";
import type { LRP } from "../lrp/lrp.ts";
import { Org } from "../org/org.ts";
import { Package } from "../package/package.ts";
import { Process } from "../process/process.ts";
import { Revision } from "../revision/revision.ts";
import { Rollout } from "../rollout/rollout.ts";
import { Route } from "../route/route.ts";
import { Space } from "../space/space.ts";
import type { ObjectMeta } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import type { ResourceDefinition } from "../../kube/api/resource.ts";

interface ObjectInput {
  spec: object;
  status?: object;
  metadata?: Partial<ObjectMeta>;
}

/** An object of a kind: named, in namespace `acme-dev`, with uid `uid-<name>`. */
export function makeObject<D extends ResourceDefinition>(ref: D, name: string, given: ObjectInput): ObjectOf<D> {
  const metadata = {
    name,
    uid: `uid-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...(ref.namespaced && { namespace: "acme-dev" }),
    ...given.metadata,
  };
  const spec: unknown = ref.spec.parse(given.spec);
  return {
    apiVersion: `${ref.group}/${ref.version}`,
    kind: ref.kind,
    metadata,
    spec,
    ...(given.status && { status: given.status }),
  } as ObjectOf<D>;
}

export const anApp = (spec: object = {}, more: Omit<ObjectInput, "spec"> = {}): App =>
  makeObject(App, "shop", { spec, ...more });
export const aProcess = (spec: object = {}, more: Omit<ObjectInput, "spec"> = {}): Process =>
  makeObject(Process, "shop.web", { spec: { appRef: { name: "shop" }, ...spec }, ...more });
export const aDroplet = (spec: object = {}, name = "d1"): Droplet =>
  makeObject(Droplet, name, {
    spec: { appRef: { name: "shop" }, kind: "docker", image: "example.com/x:1", processTypes: { web: "" }, ...spec },
  });
export const aRunner = (name = "runner", spec: object = {}, capabilities?: Record<string, string>): BackendClass =>
  makeObject(BackendClass, name, {
    spec: { role: "runner", default: true, ...spec },
    ...(capabilities && { status: { capabilities } }),
  });
export const aRevision = (version: number, spec: object, more: Omit<ObjectInput, "spec"> = {}): Revision =>
  makeObject(Revision, `shop-${version}`, { spec: { appRef: { name: "shop" }, version, ...spec }, ...more });
export const aRollout = (spec: object = {}, more: Omit<ObjectInput, "spec"> & { name?: string } = {}): Rollout =>
  makeObject(Rollout, more.name ?? "r1", { spec: { appRef: { name: "shop" }, ...spec }, ...more });
export const aRoute = (spec: object = {}, more: Omit<ObjectInput, "spec"> = {}): Route =>
  makeObject(Route, "shop", { spec: { host: "shop", domainRef: { name: "apps" }, ...spec }, ...more });
export const aDomain = (spec: object = {}): Domain =>
  makeObject(Domain, "apps", { spec: { name: "apps.example", ...spec } });
export const aPackage = (spec: object = {}, more: Omit<ObjectInput, "spec"> = {}): Package =>
  makeObject(Package, "p1", { spec: { appRef: { name: "shop" }, type: "bits", ...spec }, ...more });
export const aBuild = (spec: object = {}, more: Omit<ObjectInput, "spec"> = {}): Build =>
  makeObject(Build, "b1", { spec: { appRef: { name: "shop" }, packageRef: { name: "p1" }, ...spec }, ...more });
export const anOrg = (spec: object = {}): Org => makeObject(Org, "acme", { spec });
export const aSpace = (spec: object = {}): Space => makeObject(Space, "dev", { spec, metadata: { namespace: "acme" } });
export const anLRP = (draft: object, status: object = {}): LRP => ({
  ...(draft as LRP),
  status: status as LRP["status"],
});

const LRP_GUID = "00000000-0000-4000-8000-000000000000";
const LRP_IDENTITY = { guid: LRP_GUID, name: "x" };

/** The spec of an LRP of class deployment, before its defaults: one instance of a web process that is not checked. */
export const lrpSpec = (change: object = {}): object => ({
  class: "deployment",
  rendering: "1",
  app: LRP_IDENTITY,
  space: LRP_IDENTITY,
  org: LRP_IDENTITY,
  processGUID: LRP_GUID,
  processType: "web",
  revision: "1",
  version: LRP_GUID,
  droplet: { guid: LRP_GUID, kind: "docker", image: "example.com/x:1" },
  ports: [8080],
  instances: 1,
  memoryMB: 64,
  diskMB: 64,
  healthCheck: { type: "process" },
  readinessHealthCheck: { type: "process" },
  ...change,
});
