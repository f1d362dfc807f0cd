// Kubernetes' own verdict on an endpoint's permissions: `kubectl auth can-i` for each, and server-side dry runs of creations and deletions.
import { guidOf } from "../../../crds/guid.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { apiVersionOf, resourcePath, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { EndpointPermission, RequiredPermission } from "../../../api/access/required-permission.ts";
import type { Json } from "../kubernetes/api.ts";
import type { TestEnv, TestUser } from "../permissions/test-env.ts";
import type { Things } from "./role-requests.ts";

/** An endpoint's permissions on objects; none where any caller may ask. */
export function permissionsOf(permission: EndpointPermission): RequiredPermission[] {
  return typeof permission === "string" ? [] : ([permission].flat() as RequiredPermission[]);
}

/** Plurals of CF's lists by kind. */
const LISTS: Readonly<Record<string, string>> = {
  Org: "organizations",
  Rollout: "deployments",
  OrgQuota: "organization_quotas",
  SpaceQuota: "space_quotas",
  SecurityGroup: "security_groups",
  IsolationSegment: "isolation_segments",
};

interface Place {
  namespace?: string | undefined;
  name?: string | undefined;
}

/** Kinds that are made in the org's namespace, and in the platform's. The others live in spaces. */
const IN_ORG = new Set(["Space", "Domain", "SpaceQuota"]);
const IN_SYSTEM = new Set(
  [
    ["Buildpack", "Stack", "OrgQuota", "SecurityGroup", "IsolationSegment", "FeatureFlag", "EnvironmentGroup"],
    ["User", "UsageLog", "ServiceUsageLog"],
  ].flat(),
);

export interface KubectlVerdicts {
  /** `kubectl auth can-i VERB KIND/NAME --subresource …` as that person, of all permissions. */
  canI(person: TestUser, permissions: readonly RequiredPermission[]): Promise<boolean>;
  /** `kubectl create --dry-run=server`: the status. */
  create(person: TestUser, ref: ResourceRef, spec: Json): Promise<number>;
  /** `kubectl delete --dry-run=server` of the thing of that kind: the status. */
  remove(person: TestUser, ref: ResourceRef): Promise<number>;
}

export function kubectlVerdicts(env: TestEnv, things: Things): KubectlVerdicts {
  const objects = new Map<string, Promise<KubeObject | undefined>>();
  const known = new Map<string, Promise<boolean>>();
  const findThing = (ref: ResourceRef): Promise<KubeObject | undefined> => {
    const guid = things[LISTS[ref.kind] ?? ref.plural];
    const find = async (): Promise<KubeObject | undefined> =>
      (await env.root.list(ref)).items.find((one) => guidOf(one) === guid);
    const found = objects.get(ref.kind) ?? find();
    objects.set(ref.kind, found);
    return found;
  };
  const placeOf = async ({ verb, on }: RequiredPermission): Promise<Place> => {
    const thing = verb === "create" ? undefined : await findThing(on);
    return thing ? thing.metadata : { namespace: namespaceOf(on) };
  };
  const ask = async (person: TestUser, permission: RequiredPermission): Promise<boolean> => {
    const { verb, on, subresource } = permission;
    const { namespace, name } = await placeOf(permission);
    const resourceAttributes = { verb, group: on.group, resource: on.plural, subresource, namespace, name };
    const answer = await env.kubernetes.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: person, groups: ["system:authenticated"], resourceAttributes },
    });
    return answer.body.status?.allowed === true;
  };
  return {
    async canI(person, permissions) {
      const answers = permissions.map((one) => {
        const key = `${person} ${one.verb} ${one.on.kind}/${one.subresource ?? ""}`;
        const answer = known.get(key) ?? ask(person, one);
        known.set(key, answer);
        return answer;
      });
      return (await Promise.all(answers)).every(Boolean);
    },
    async create(person, ref, spec) {
      const body = { apiVersion: apiVersionOf(ref), kind: ref.kind, metadata: { name: "tried" }, spec };
      const namespace = namespaceOf(ref);
      const path = resourcePath(ref, { ...(namespace !== undefined && { namespace }) });
      return (await env.at(person).post(`${path}?dryRun=All`, body)).status;
    },
    async remove(person, ref) {
      const { metadata } = (await findThing(ref)) ?? { metadata: { name: `no-${ref.kind}` } };
      return (await env.at(person).delete(`${resourcePath(ref, metadata)}?dryRun=All`)).status;
    },
  };
}

function namespaceOf({ kind, namespaced }: ResourceRef): string | undefined {
  if (!namespaced) return undefined;
  if (IN_SYSTEM.has(kind)) return SYSTEM_NAMESPACE;
  return IN_ORG.has(kind) ? "matrix" : "matrix-one";
}
