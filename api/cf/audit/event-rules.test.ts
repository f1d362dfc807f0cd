// The audit events that each write makes.
import { expect, test } from "vitest";
import { aProcess, aRoute, anApp } from "../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { listEvents, type AuditedWrite } from "./event-rules.ts";

const of = (spec: object = {}): KubeObject => ({ apiVersion: "v", kind: "K", metadata: { name: "x" }, spec }) as never;
const stopped = anApp({ state: "Stopped" });
const started = anApp({ state: "Started" });
const shop = { app: "shop", namespace: "", process: "web", port: 0, protocol: "http1" };
const cart = { app: "cart", namespace: "", process: "api", port: 9000, protocol: "http2", weight: 20 };
const mapped = { route_guid: "G", process_type: "web", app_port: null, protocol: "http1" };
const mappedCart = { route_guid: "G", process_type: "api", app_port: 9000, protocol: "http2", weight: 20 };
const web = { process_guid: "G", process_type: "web" };
const developers = {
  ...of(),
  metadata: { name: "x", namespace: "acme-dev" },
  roleRef: { kind: "ClusterRole", name: "cupola-space-developer" },
  subjects: [{ kind: "User", name: "ann" }],
} as KubeObject;
const request = { name: "n" };

type Row = [
  write: string,
  object: KubeObject,
  changes: object,
  events: [type: string, data: object, target?: string][],
];

test.each<Row>([
  ["create ServiceInstance", of({ type: "managed" }), {}, [["audit.service_instance.start_create", { request }]]],
  ["patch ServiceInstance", of({ type: "managed" }), {}, [["audit.service_instance.start_update", { request }]]],
  [
    "patch ServiceInstance",
    of({ type: "managed", sharedSpaces: ["a"] }),
    { sharedSpaces: ["b"] },
    [
      ["audit.service_instance.share", { target_space_guids: ["Space b"] }],
      ["audit.service_instance.unshare", { target_space_guid: "Space a" }],
    ],
  ],
  ["delete ServiceInstance", of({ type: "managed" }), {}, [["audit.service_instance.start_delete", {}]]],
  ["delete ServiceInstance", of({}), {}, [["audit.user_provided_service_instance.delete", {}]]],
  ["create ServiceBinding", of({ type: "key" }), {}, [["audit.service_key.start_create", { request }]]],
  ["delete ServiceBinding", of({ type: "key" }), {}, [["audit.service_key.start_delete", {}]]],
  ["create ServiceBinding", of({ type: "app" }), {}, [["audit.service_binding.create", { request }]]],
  ["create App", stopped, {}, [["audit.app.create", { request }]]],
  ["patch App", stopped, { state: "Started", restart: "1" }, [["audit.app.start", {}]]],
  ["patch App", started, { state: "Started", restart: "1" }, [["audit.app.restart", {}]]],
  ["patch App", started, { state: "Stopped" }, [["audit.app.stop", {}]]],
  [
    "patch App",
    started,
    { droplet: { name: "d1" } },
    [["audit.app.droplet.mapped", { request: { droplet_guid: "Droplet d1" } }]],
  ],
  ["patch App", started, { buildCache: "1" }, []],
  ["patch Buildpack", of(), { content: {} }, [["audit.buildpack.upload", { request }]]],
  ["patch Buildpack", of(), { position: 1 }, [["audit.buildpack.update", { request }]]],
  ["patch App", started, { env: [] }, [["audit.app.update", { request }]]],
  ["delete App", started, {}, [["audit.app.delete-request", {}]]],
  ["create Process", aProcess(), {}, [["audit.app.process.create", web]]],
  [
    "patch Process",
    aProcess(),
    { instances: 2, memoryMB: 64 },
    [["audit.app.process.scale", { ...web, request: { instances: 2, memory_in_mb: 64 } }]],
  ],
  ["patch Process", aProcess(), { command: "x" }, [["audit.app.process.update", { ...web, request }]]],
  [
    "patch Process",
    aProcess(),
    { restartInstances: { 1: "now" } },
    [["audit.app.process.terminate_instance", { ...web, process_index: 1 }]],
  ],
  ["create Package", of(), {}, [["audit.app.package.create", { package_guid: "G", request }]]],
  ["patch Package", of(), { content: {} }, [["audit.app.package.upload", { package_guid: "G" }]]],
  ["patch Package", of(), {}, []],
  [
    "create Build",
    of({ packageRef: { name: "p1" } }),
    {},
    [["audit.app.build.create", { build_guid: "G", package_guid: "Package p1" }]],
  ],
  ["delete Droplet", of(), {}, [["audit.app.droplet.delete", { droplet_guid: "G" }]]],
  ["create Task", of(), {}, [["audit.app.task.create", { task_guid: "G", request }]]],
  ["patch Task", of(), { cancelled: true }, [["audit.app.task.cancel", { task_guid: "G" }]]],
  ["patch Rollout", of(), { cancelled: true }, [["audit.app.deployment.cancel", { deployment_guid: "G" }]]],
  ["patch Rollout", of(), { paused: false }, [["audit.app.deployment.continue", { deployment_guid: "G" }]]],
  [
    "create Route",
    aRoute({ destinations: [shop] }),
    {},
    [
      ["audit.route.create", { request }],
      ["audit.app.map-route", mapped, "shop"],
    ],
  ],
  [
    "patch Route",
    aRoute({ destinations: [shop] }),
    { destinations: [cart] },
    [
      ["audit.app.map-route", mappedCart, "cart"],
      ["audit.app.unmap-route", mapped, "shop"],
    ],
  ],
  ["patch Route", aRoute({ destinations: [shop] }), { destinations: [{ ...shop, weight: 5 }] }, []],
  [
    "patch Route",
    aRoute({ sharedSpaces: ["a"] }),
    { sharedSpaces: ["a", "b", "c"] },
    [["audit.route.share", { target_space_guids: ["Space b", "Space c"] }]],
  ],
  [
    "patch Route",
    aRoute({ sharedSpaces: ["a", "b"], destinations: [shop] }),
    { sharedSpaces: ["a"], destinations: [] },
    [
      ["audit.route.unshare", { target_space_guid: "Space b" }],
      ["audit.app.unmap-route", mapped, "shop"],
    ],
  ],
  ["move Route", aRoute(), {}, [["audit.route.transfer-owner", { target_space_guid: "Space acme-test" }]]],
  ["delete Route", aRoute(), {}, [["audit.route.delete-request", { request: { recursive: false } }]]],
  [
    "patch Org",
    of({ name: "Acme" }),
    { quotaRef: { name: "big" } },
    [["audit.organization_quota.apply", { organization_guid: "G", organization_name: "Acme" }, "big"]],
  ],
  ["patch Org", of(), { name: "n" }, [["audit.organization.update", { request }]]],
  [
    "patch Space",
    of({ name: "dev" }),
    { quotaRef: { name: "small" } },
    [["audit.space_quota.apply", { space_guid: "G", space_name: "dev" }, "small"]],
  ],
  [
    "patch Space",
    of({ name: "dev", quotaRef: { name: "small" } }),
    { quotaRef: null },
    [["audit.space_quota.remove", { space_guid: "G", space_name: "dev" }, "small"]],
  ],
  ["create Space", of(), {}, [["audit.space.create", { request }]]],
  ["delete Org", of(), {}, [["audit.organization.delete-request", {}]]],
  ["create RoleBinding", developers, {}, [["audit.user.space_developer_add", { request }, "ann"]]],
  ["delete RoleBinding", developers, {}, [["audit.user.space_developer_remove", { request }, "ann"]]],
  ["create ConfigMap", of(), {}, []],
])("%s of %j with %j", (write, object, changes, events) => {
  const [verb, kind] = write.split(" ") as [AuditedWrite["verb"], string];
  const guidOf: AuditedWrite["guidOf"] = (of, name) => `${of} ${name}`;
  const found = listEvents({
    verb,
    kind,
    object,
    changes: changes as Record<string, unknown>,
    guid: "G",
    guidOf,
    quotaOf: (name) => ({ guid: `quota ${name}`, name }),
    spaceGUIDOf: (namespace) => `Space ${namespace}`,
    movedTo: "acme-test",
    request,
  });
  expect(found.map(({ type, data, target }) => [type, data, "name" in target ? target.name : undefined])).toEqual(
    events.map(([type, data, target]) => [type, data, target]),
  );
});

test("a note of who deletes an instance is no update", () => {
  const places = { guidOf: () => "", spaceGUIDOf: () => "", quotaOf: (name: string) => ({ guid: "Q", name }) };
  const write = {
    ...places,
    verb: "patch",
    kind: "ServiceInstance",
    object: of({ type: "managed" }),
    guid: "G",
  } as const;
  expect(listEvents({ ...write, changes: {} })).toEqual([]);
  // Labels of a client are.
  expect(listEvents({ ...write, changes: {}, request: { metadata: {} } })).toHaveLength(1);
});
