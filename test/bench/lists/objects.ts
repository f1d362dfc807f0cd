// Ten thousand apps in a hundred spaces, with what belongs to them, as a cluster has them when its controllers have done their work. Pure.
import { App } from "../../../crds/app/app.ts";
import { type AuditEvent, AuditLog } from "../../../crds/audit-log/audit-log.ts";
import { Claim } from "../../../crds/claim/claim.ts";
import { claimedNameOf } from "../../../crds/claim/claimed-name.ts";
import { newClaim } from "../../../crds/claim/rules.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { deriveGUID } from "../../../crds/guid.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Org } from "../../../crds/org/org.ts";
import { Process } from "../../../crds/process/process.ts";
import { listClusterRoles } from "../../../crds/role-permissions.ts";
import { CF_ROLES } from "../../../crds/roles.ts";
import { Route } from "../../../crds/route/route.ts";
import { Space } from "../../../crds/space/space.ts";
import { Stack } from "../../../crds/stack/stack.ts";
import { Task } from "../../../crds/task/task.ts";
import { ClusterRole, Role, RoleBinding } from "../../../kube/api/builtin.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { apiVersionOf, type ResourceRef } from "../../../kube/api/resource-ref.ts";

export const APPS = 10_000;
export const SPACES = 100;
const ORGS = 10;
/** Sees every space by a RoleBinding in it. */
export const DEVELOPER = "developer";
const EVENTS_PER_SEGMENT = 20;
const SEGMENTS_PER_SPACE = 5;

/** An object and its kind. */
export type Placed = readonly [ref: ResourceRef, object: KubeObject];

const rbac = "rbac.authorization.k8s.io";
const start = Date.parse("2026-01-01T00:00:00Z");

function object(ref: ResourceRef, metadata: { name: string; namespace?: string }, rest: object, at = 0): Placed {
  const uid = deriveGUID("uid", ref.kind, metadata.namespace ?? "", metadata.name);
  return [
    ref,
    {
      apiVersion: apiVersionOf(ref),
      kind: ref.kind,
      metadata: {
        ...metadata,
        uid,
        generation: 1,
        resourceVersion: "1",
        creationTimestamp: `${new Date(start + at * 1000).toISOString().slice(0, 19)}Z`,
        // The standing web process has none.
        ...(ref.kind !== Process.kind && { labels: { [LABELS.guid]: uid } }),
      },
      ...rest,
    },
  ];
}

function claimOf([ref, claimant]: Placed, domain?: Domain): Placed[] {
  const name = claimedNameOf(ref.kind, claimant, () => domain);
  if (!name) return [];
  const { name: objectName, namespace } = claimant.metadata;
  const claim = newClaim(name, { kind: ref.kind, name: objectName, ...(namespace && { namespace }) }, new Date(0));
  return [object(Claim, claim.metadata, { spec: claim.spec })];
}

const claimed = (placed: Placed, domain?: Domain): Placed[] => [placed, ...claimOf(placed, domain)];

function bind(namespace: string, name: string, clusterRole: string, user: string): Placed {
  return object(
    RoleBinding as ResourceRef,
    { name, namespace },
    {
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: clusterRole },
      subjects: [{ apiGroup: rbac, kind: "User", name: user }],
    },
  );
}

/** Every object, RBAC first. */
export function tenThousandApps(): Placed[] {
  const domain = object(Domain, { name: "apps.example", namespace: SYSTEM_NAMESPACE }, { spec: domainSpec() });
  return [
    ...listClusterRoles().map((role): Placed => [ClusterRole as ResourceRef, role]),
    ...claimed(domain),
    object(Stack, { name: "base" }, { spec: { name: "base", default: true } }),
    ...Array.from({ length: ORGS }, (_, at) => orgObjects(at)).flat(),
    ...Array.from({ length: SPACES }, (_, at) => spaceObjects(at, domain[1] as Domain)).flat(),
  ];
}

const domainSpec = (): object => ({ name: "apps.example", sharedOrgs: [], internal: false });
const orgName = (at: number): string => `org-${at % ORGS}`;
const spaceName = (at: number): string => `${orgName(at)}-space-${at}`;

function orgObjects(at: number): Placed[] {
  const name = orgName(at);
  return [
    ...claimed(object(Org, { name }, { spec: {}, status: { namespace: name } })),
    bind(name, "user", CF_ROLES.organization_user.clusterRole, DEVELOPER),
    // As the controllers keep it for whoever has a role in a space of the org.
    object(
      Role as ResourceRef,
      { name: "spaces", namespace: name },
      { rules: [{ apiGroups: ["cupola.dev"], resources: ["spaces"], verbs: ["get"] }] },
    ),
    object(
      RoleBinding as ResourceRef,
      { name: "spaces", namespace: name },
      {
        roleRef: { apiGroup: rbac, kind: "Role", name: "spaces" },
        subjects: [{ apiGroup: rbac, kind: "User", name: DEVELOPER }],
      },
    ),
  ];
}

function spaceObjects(at: number, domain: Domain): Placed[] {
  const namespace = spaceName(at);
  const perSpace = APPS / SPACES;
  return [
    ...claimed(object(Space, { name: `space-${at}`, namespace: orgName(at) }, { spec: {}, status: { namespace } })),
    bind(namespace, "developer", CF_ROLES.space_developer.clusterRole, DEVELOPER),
    ...Array.from({ length: perSpace }, (_, one) => appObjects(namespace, at * perSpace + one, domain)).flat(),
    ...Array.from({ length: SEGMENTS_PER_SPACE }, (_, one) => segment(namespace, at, one)),
  ];
}

function appObjects(namespace: string, at: number, domain: Domain): Placed[] {
  const name = `app-${at}`;
  const appRef = { name };
  return [
    ...claimed(object(App, { name, namespace }, { spec: appSpec(name) }, at)),
    object(Process, { name: `${name}.web`, namespace }, { spec: { appRef, type: "web", ...sizes } }, at),
    ...claimed(object(Route, { name, namespace }, { spec: routeSpec(name) }, at), domain),
    object(Task, { name: `${name}-1`, namespace }, { spec: { appRef, command: "true", ...sizes }, status: ended }, at),
    bind(namespace, `auditor-${at}`, CF_ROLES.space_auditor.clusterRole, `user-${at}`),
  ];
}

const sizes = { memoryMB: 256, diskMB: 1024, logRateLimitBytesPerSecond: -1 };
const ended = { state: "Succeeded", sequenceID: 1 };

function appSpec(name: string): object {
  return { name, state: "Stopped", lifecycle: { type: "buildpack", buildpacks: [] }, env: [] };
}

function routeSpec(name: string): object {
  const destinations = [{ app: name, process: "web", port: 0, protocol: "http1" }];
  return { host: name, path: "", port: 0, domainRef: { name: "apps.example" }, destinations };
}

function segment(namespace: string, space: number, at: number): Placed {
  const events = Array.from({ length: EVENTS_PER_SEGMENT }, (_, one) =>
    auditEvent(namespace, at * EVENTS_PER_SEGMENT + one, space),
  );
  return object(AuditLog, { name: `audit-${at}`, namespace }, { spec: { writer: "api", events } }, at);
}

function auditEvent(namespace: string, at: number, space: number): AuditEvent {
  return {
    guid: deriveGUID("event", namespace, String(at)),
    at: new Date(start + at * 1_000_000 + space * 1000).toISOString(),
    type: "audit.app.update",
    actor: { guid: DEVELOPER, type: "user", name: DEVELOPER },
    target: { guid: deriveGUID("uid", "App", namespace, `app-${at}`), type: "app", name: `app-${at}` },
    spaceGUID: deriveGUID("uid", "Space", namespace, ""),
    data: JSON.stringify({ request: { state: "STARTED" } }),
  };
}
