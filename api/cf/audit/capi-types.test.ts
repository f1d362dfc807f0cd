// All types of audit events that CAPI has: what writes each here, or why nothing does.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { aProcess, aRoute, anApp } from "../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { listEvents, type AuditedWrite } from "./event-rules.ts";

const started = anApp({ state: "Started" });
const destination = { app: "shop", namespace: "", process: "web", port: 0, protocol: "http1" };
const of = (spec: object = {}): KubeObject => ({ apiVersion: "v", kind: "K", metadata: { name: "x" }, spec }) as never;
/** A binding that a broker makes, as the API writes it. */
const askedOf = (spec: object): KubeObject => ({
  ...of(spec),
  metadata: { name: "x", annotations: { "cupola.dev/asked-by": "ann" } },
});
const binding = (role: string): KubeObject =>
  ({
    ...of(),
    metadata: { name: "x", namespace: "acme-dev" },
    roleRef: { kind: "ClusterRole", name: `cupola-${role.replace("organization", "org").replaceAll("_", "-")}` },
    subjects: [{ kind: "User", name: "ann" }],
  }) as never;

/** A write, through the API or past it, that leaves the event. */
const write = (what: string, object = of(), changes: object = {}) => ({ what, object, changes });
/** The leader's watch leaves the event. */
const watch = { file: "controllers/audit-log/instance-events.ts" };
const ends = { file: "controllers/audit-log/app-events.ts" };
const done = (noun: string, verbs: string) =>
  Object.fromEntries(
    verbs.split(" ").map((verb) => [`audit.${noun}.${verb}`, { file: "controllers/audit-log/service-events.ts" }]),
  );
/** An endpoint leaves the event: `recordAppEvent`. */
const endpoint = (file: string) => ({ file, isCall: true });

const NO_SERVICES = "not recorded yet";
const FIRST_API = "CAPI writes it in its first API (/v2) only";

const lifecycle = (noun: string, kind: string, deletion = "delete") => ({
  [`audit.${noun}.create`]: write(`create ${kind}`),
  [`audit.${noun}.update`]: write(`patch ${kind}`, of(), { name: "n" }),
  [`audit.${noun}.${deletion}`]: write(`delete ${kind}`),
});
const roles = Object.fromEntries(
  [
    ...["organization_user", "organization_auditor", "organization_billing_manager", "organization_manager"],
    ...["space_auditor", "space_supporter", "space_developer", "space_manager"],
  ].flatMap((role) => [
    [`audit.user.${role}_add`, write("create RoleBinding", binding(role))],
    [`audit.user.${role}_remove`, write("delete RoleBinding", binding(role))],
  ]),
) as Record<string, ReturnType<typeof write>>;
const none = (noun: string, verbs: string, reason: string) =>
  Object.fromEntries(verbs.split(" ").map((verb) => [`audit.${noun}.${verb}`, reason]));

const TYPES: Readonly<Record<string, ReturnType<typeof write> | { file: string; isCall?: boolean } | string>> = {
  "audit.app.create": write("create App", started),
  "audit.app.update": write("patch App", started, { env: [] }),
  "audit.app.delete-request": write("delete App", started),
  "audit.app.start": write("patch App", anApp({ state: "Stopped" }), { state: "Started" }),
  "audit.app.restart": write("patch App", started, { state: "Started", restart: "1" }),
  "audit.app.restage": `${FIRST_API}: a restage of today is a build and a restart, and has their events`,
  "audit.app.stop": write("patch App", started, { state: "Stopped" }),
  "audit.app.package.create": write("create Package"),
  "audit.app.package.upload": write("patch Package", of(), { content: {} }),
  "audit.app.package.download": endpoint("api/package/package.ts"),
  "audit.app.package.delete": write("delete Package"),
  "audit.app.process.create": write("create Process", aProcess()),
  "audit.app.process.update": write("patch Process", aProcess(), { command: "x" }),
  "audit.app.process.delete": write("delete Process", aProcess()),
  "audit.app.process.rescheduling": watch,
  "audit.app.process.crash": watch,
  "audit.app.process.terminate_instance": write("patch Process", aProcess(), { restartInstances: { 1: "now" } }),
  "audit.app.process.scale": write("patch Process", aProcess(), { instances: 2 }),
  "audit.app.process.ready": watch,
  "audit.app.process.not-ready": watch,
  "audit.app.droplet.create": write("create Droplet"),
  "audit.app.droplet.upload": write("patch Droplet", of(), { content: {} }),
  "audit.app.droplet.download": endpoint("api/droplet/droplet.ts"),
  "audit.app.droplet.delete": write("delete Droplet"),
  "audit.app.droplet.mapped": write("patch App", started, { droplet: { name: "d" } }),
  "audit.app.task.create": write("create Task"),
  "audit.app.task.cancel": write("patch Task", of(), { cancelled: true }),
  "audit.app.map-route": write("patch Route", aRoute(), { destinations: [{ ...destination, app: "cart" }] }),
  "audit.app.unmap-route": write("patch Route", aRoute({ destinations: [destination] }), { destinations: [] }),
  "audit.app.build.create": write("create Build"),
  "audit.app.build.staged": ends,
  "audit.app.build.failed": ends,
  "audit.app.environment.show": endpoint("api/app/environment.ts"),
  "audit.app.environment_variables.show": endpoint("api/app/environment.ts"),
  "audit.app.revision.create": ends,
  "audit.app.revision.environment_variables.show": endpoint("api/revision/revision.ts"),
  "audit.app.deployment.cancel": write("patch Rollout", of(), { cancelled: true }),
  "audit.app.deployment.create": write("create Rollout"),
  "audit.app.deployment.continue": write("patch Rollout", of(), { paused: false }),
  "audit.app.copy-bits": `${FIRST_API}: a copied package has audit.app.package.create`,
  "audit.app.upload-bits": `${FIRST_API}: an upload has audit.app.package.upload`,
  "audit.app.apply_manifest": endpoint("api/manifest/manifest.ts"),
  "audit.app.ssh-authorized": "there is no ssh yet",
  "audit.app.ssh-unauthorized": "there is no ssh yet",
  ...lifecycle("buildpack", "Buildpack"),
  "audit.buildpack.upload": write("patch Buildpack", of(), { content: {} }),
  ...none("service", "create update delete", NO_SERVICES),
  ...none("service_broker", "create update delete", NO_SERVICES),
  ...none("service_plan", "create update delete", NO_SERVICES),
  ...done("service_instance", "create update delete"),
  ...none("service_instance", "bind_route unbind_route purge show", NO_SERVICES),
  "audit.service_instance.share": write("patch ServiceInstance", of({ type: "managed" }), { sharedSpaces: ["a"] }),
  "audit.service_instance.unshare": write("patch ServiceInstance", of({ type: "managed", sharedSpaces: ["a"] }), {
    sharedSpaces: [],
  }),
  "audit.service_instance.start_create": write("create ServiceInstance", of({ type: "managed" })),
  "audit.service_instance.start_update": write("patch ServiceInstance", of({ type: "managed" }), { tags: [] }),
  "audit.service_instance.start_delete": write("delete ServiceInstance", of({ type: "managed" })),
  ...done("service_binding", "update"),
  ...none("service_binding", "show", NO_SERVICES),
  "audit.service_binding.start_create": write("create ServiceBinding", askedOf({ type: "app" })),
  "audit.service_binding.start_delete": write("delete ServiceBinding", askedOf({ type: "app" })),
  "audit.service_binding.create": write("create ServiceBinding", of({ type: "app" })),
  "audit.service_binding.delete": write("delete ServiceBinding", of({ type: "app" })),
  ...done("service_key", "create update delete"),
  ...none("service_key", "show", NO_SERVICES),
  "audit.service_key.start_create": write("create ServiceBinding", of({ type: "key" })),
  "audit.service_key.start_delete": write("delete ServiceBinding", of({ type: "key" })),
  ...none("service_plan_visibility", "create update delete", NO_SERVICES),
  ...none("service_route_binding", "create update delete start_create start_delete", NO_SERVICES),
  ...none("user_provided_service_instance", "show", NO_SERVICES),
  "audit.user_provided_service_instance.create": write("create ServiceInstance", of()),
  "audit.user_provided_service_instance.update": write("patch ServiceInstance", of(), { tags: [] }),
  "audit.user_provided_service_instance.delete": write("delete ServiceInstance", of()),
  ...none("service_dashboard_client", "create delete", NO_SERVICES),
  ...lifecycle("route", "Route", "delete-request"),
  "audit.route.create": write("create Route", aRoute()),
  "audit.route.share": write("patch Route", aRoute(), { sharedSpaces: ["a"] }),
  "audit.route.unshare": write("patch Route", aRoute({ sharedSpaces: ["a"] }), { sharedSpaces: [] }),
  "audit.route.transfer-owner": write("move Route", aRoute()),
  ...lifecycle("route_policy", "RoutePolicy"),
  ...lifecycle("organization", "Org", "delete-request"),
  ...lifecycle("organization_quota", "OrgQuota"),
  "audit.organization_quota.apply": write("patch Org", of(), { quotaRef: { name: "big" } }),
  ...lifecycle("space", "Space", "delete-request"),
  ...lifecycle("space_quota", "SpaceQuota"),
  "audit.space_quota.apply": write("patch Space", of(), { quotaRef: { name: "small" } }),
  "audit.space_quota.remove": write("patch Space", of({ quotaRef: { name: "small" } }), { quotaRef: null }),
  ...lifecycle("stack", "Stack"),
  ...roles,
  "app.crash": watch,
  "blob.remove_orphan": "unused content is removed and counted by the platform's log; it belongs to no space",
};

function typesOf({ what, object, changes }: ReturnType<typeof write>): string[] {
  const [verb, kind] = what.split(" ") as [AuditedWrite["verb"], string];
  const places = { guidOf: () => "", spaceGUIDOf: () => "", quotaOf: (name: string) => ({ guid: "Q", name }) };
  const changed = changes as Record<string, unknown>;
  return listEvents({ ...places, verb, kind, object, changes: changed, guid: "G" }).map(({ type }) => type);
}

test("CAPI's list is whole", () => {
  expect(Object.keys(TYPES)).toHaveLength(140);
});

test.each(Object.entries(TYPES))("%s", (type, writer) => {
  if (typeof writer === "string") return expect(writer.length).toBeGreaterThan(10);
  if ("what" in writer) return expect(typesOf(writer)).toContain(type);
  const source = readFileSync(new URL(`../../../${writer.file}`, import.meta.url), "utf8");
  const name = type.replace("audit.app.", "");
  if (writer.isCall) return expect(source).toContain(`recordAppEvent("${name}"`);
  return expect(source).toContain(`"${type}"`);
});
