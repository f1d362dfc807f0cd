// Checks 201 to 204: the objects of the chart are those of the running version, and the accounts have their rights.
import { listManifests } from "../../../crds/manifests.ts";
import { listClusterRoles } from "../../../crds/role-permissions.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { missingRules } from "../../../kube/rbac/covers.ts";
import type { PolicyRule } from "../../../kube/rbac/types.ts";
import { planInstallGaps } from "../../../platform/operations/installed-objects.ts";
import { OPERATIONS, type Operation } from "../../../platform/operations/operations.ts";
import { serviceAccountName, spaceRoleName, toOperationPermissions } from "../../../platform/operations/permissions.ts";
import { operationsOf } from "../chart-arguments.ts";
import { count, CouldNotLook, nameFirst, type Check, type Found } from "../finding.ts";
import type { Readings } from "../facts.ts";

const UPGRADE = "helm upgrade cupola, with the chart of that version";
const STUCK_MS = 600_000;

const objects: Check = {
  code: 201,
  title: "kinds, roles and admission policies are those of this version",
  severity: "problem",
  fault:
    "A kind (CustomResourceDefinition), a ClusterRole of a CF role, an admission policy or its binding is absent, was changed, or is of another version than the running platform; or the chart's Deployments are absent. Only the `cup` of the platform's own version can tell.",
  mend: "`helm upgrade cupola` with the chart of the running version restores them.",
  judge(read) {
    if (read.deployments().length === 0)
      return [
        {
          what: "no Deployment of the chart is in cupola-system",
          next: "helm install cupola, as docs/install.md has it",
        },
      ];
    requireSameVersion(read);
    const gaps = [...planGaps(read), ...planRoleGaps(read)];
    if (gaps.length === 0) return [];
    return [
      {
        what: `${count(gaps.length, "object")} of the chart ${gaps.length === 1 ? "is" : "are"} not as this version needs them`,
        where: nameFirst(gaps),
        next: UPGRADE,
      },
    ];
  },
};

/** @throws CouldNotLook when the platform is of another version than this `cup` */
function requireSameVersion(read: Readings): void {
  const charts = new Set(read.deployments().flatMap(({ metadata }) => metadata.labels?.["helm.sh/chart"] ?? []));
  const own = `cupola-${read.cupVersion()}`;
  const other = [...charts].find((chart) => chart !== own);
  if (other)
    throw new CouldNotLook(
      `this cup is of version ${read.cupVersion()}, the chart is ${other}: use the cup of that version`,
    );
}

function planGaps(read: Readings): string[] {
  const live: Readonly<Record<string, readonly KubeObject[]>> = {
    CustomResourceDefinition: read.definitions(),
    ValidatingAdmissionPolicy: read.policies(),
    ValidatingAdmissionPolicyBinding: read.policyBindings(),
  };
  const expected = listManifests().flatMap(({ objects: all }) => all);
  return Object.entries(live).flatMap(([kind, found]) => {
    const byName = new Map(found.map((object) => [object.metadata.name, object]));
    return planInstallGaps(
      expected.filter((object) => object.kind === kind),
      (name) => byName.get(name),
    );
  });
}

/** Roles may have more rules than the version's own. */
function planRoleGaps(read: Readings): string[] {
  const live = new Map(read.clusterRoles().map((role) => [role.metadata.name, role]));
  return listClusterRoles().flatMap((wanted) => {
    const found = live.get(wanted.metadata.name);
    if (!found) return [`ClusterRole ${wanted.metadata.name} is missing`];
    const isComplete = missingRules(rulesOf(found), rulesOf(wanted)).length === 0;
    return isComplete ? [] : [`ClusterRole ${wanted.metadata.name} lacks rules`];
  });
}

function rulesOf(role: KubeObject): PolicyRule[] {
  return (role["rules"] ?? []) as PolicyRule[];
}

const storedVersions: Check = {
  code: 202,
  title: "stored objects are of served versions",
  severity: "problem",
  fault:
    "`status.storedVersions` of a kind names a version that the kind does not serve: the next upgrade cannot remove it.",
  mend: 'Write the objects again: `kubectl get KIND -A -o json | kubectl replace -f -`. Then drop the old version: `kubectl patch crd NAME --subresource=status --type=merge -p \'{"status":{"storedVersions":["v1alpha1"]}}\'`.',
  judge: (read) =>
    read.definitions().flatMap(({ metadata, spec, status }): Found[] => {
      const served = new Set(spec.versions.flatMap(({ name, served: isServed }) => (isServed ? [name] : [])));
      const old = (status?.storedVersions ?? []).filter((version) => !served.has(version));
      if (old.length === 0) return [];
      return [
        {
          what: `objects of ${metadata.name} are stored as ${old.join(", ")}, which is not served`,
          where: [`CustomResourceDefinition ${metadata.name}`],
          next: `kubectl get ${metadata.name} -A -o json | kubectl replace -f -, then drop the old version from its status: docs/operate/doctor.md`,
        },
      ];
    }),
};

const oneVersion: Check = {
  code: 203,
  title: "one version runs",
  severity: "problem",
  fault: "Pods of one Deployment run two images, the younger of them for more than 10 min: an upgrade is stuck.",
  mend: "`kubectl describe pod` of the younger pod says why it does not become ready. `helm rollback cupola` returns to the version before.",
  judge(read) {
    return read.deployments().flatMap(({ metadata }): Found[] => {
      const component = metadata.labels?.["app.kubernetes.io/component"];
      const pods = read
        .pods()
        .filter(
          (pod) =>
            pod.metadata.labels?.["app.kubernetes.io/component"] === component && !pod.metadata.deletionTimestamp,
        )
        .toSorted((a, b) => createdAt(b) - createdAt(a));
      const images = [...new Set(pods.map(({ spec }) => spec?.containers[0]?.image ?? ""))];
      const [youngest] = pods;
      if (images.length < 2 || !youngest || read.now() - createdAt(youngest) < STUCK_MS) return [];
      return [
        {
          what: `${metadata.name} runs ${images.join(" and ")}`,
          where: [`Pod cupola-system/${youngest.metadata.name}`],
          next: `kubectl describe pod -n cupola-system ${youngest.metadata.name}`,
        },
      ];
    });
  },
};

function createdAt({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

const rights: Check = {
  code: 204,
  title: "settings are applied, and the accounts have their rights",
  severity: "problem",
  fault:
    "The Job `cupola-settings` failed; or a role of an operation lacks a rule of this version, or nobody is bound to it.",
  mend: "For the Job: its log names the object; mend the value, then `helm upgrade cupola`, which runs it again. For a role: `helm upgrade cupola` restores roles and bindings.",
  judge: (read) => [...judgeSettings(read), ...judgeOperations(read)],
};

function judgeSettings(read: Readings): Found[] {
  const failed = read
    .jobs()
    .filter(({ metadata, status }) => metadata.name === "cupola-settings" && status?.conditions?.some(isFailed));
  return failed.map(({ status }) => ({
    what: `the Job cupola-settings failed: ${status?.conditions?.find(isFailed)?.message ?? "it does not say why"}`,
    where: ["Job cupola-system/cupola-settings"],
    next: "kubectl logs -n cupola-system job/cupola-settings; mend what it names, then helm upgrade cupola",
  }));
}

const isFailed = ({ type, status }: { type: string; status: string }): boolean =>
  type === "Failed" && status === "True";

function judgeOperations(read: Readings): Found[] {
  requireSameVersion(read);
  const gaps = listOperations(read).flatMap(({ account, operation }) => [
    ...planRules(read, operation),
    ...planBindings(read, { account, operation }),
  ]);
  if (gaps.length === 0) return [];
  return [
    {
      what: `${count(gaps.length, "right")} of the platform's accounts ${gaps.length === 1 ? "is" : "are"} missing`,
      where: nameFirst(gaps),
      next: "helm upgrade cupola restores roles and bindings",
    },
  ];
}

/** The operations of each Deployment, with its ServiceAccount. */
function listOperations(read: Readings): { account: string; operation: Operation }[] {
  return read.deployments().flatMap((deployment) => {
    const account = deployment.spec?.template.spec?.serviceAccountName ?? "";
    const known = operationsOf(deployment).filter((name): name is Operation => name in OPERATIONS);
    return known.map((operation) => ({ account, operation }));
  });
}

function planRules(read: Readings, operation: Operation): string[] {
  const name = serviceAccountName(operation);
  const { cluster, system, spaces } = toOperationPermissions(operation);
  const places = [
    { kind: "ClusterRole", name, wanted: cluster, live: read.clusterRoles() },
    { kind: "Role", name, wanted: system, live: read.roles() },
    ...(spaces.length > 0
      ? [{ kind: "ClusterRole", name: spaceRoleName(operation), wanted: spaces, live: read.clusterRoles() }]
      : []),
  ];
  return places.flatMap(({ kind, name: roleName, wanted, live }) => {
    const found = (live as readonly KubeObject[]).find(({ metadata }) => metadata.name === roleName);
    if (!found) return [`${kind} ${roleName} is missing`];
    const lacking = missingRules(
      rulesOf(found),
      wanted.map((rule) => ({ ...rule, verbs: [...rule.verbs] })),
    );
    return lacking.length === 0 ? [] : [`${kind} ${roleName} lacks ${lacking.map(describe).slice(0, 2).join("; ")}`];
  });
}

const describe = ({ verbs, resources = [] }: PolicyRule): string => `${verbs.join(",")} ${resources.join(",")}`;

function planBindings(read: Readings, { account, operation }: { account: string; operation: Operation }): string[] {
  const name = serviceAccountName(operation);
  const isBound = (bindings: readonly KubeObject[], kind: string): boolean =>
    bindings.some((binding) => {
      const { roleRef, subjects = [] } = binding as unknown as {
        roleRef: { kind: string; name: string };
        subjects?: { kind: string; name: string; namespace?: string }[];
      };
      return (
        roleRef.kind === kind &&
        roleRef.name === name &&
        subjects.some((subject) => subject.kind === "ServiceAccount" && subject.name === account)
      );
    });
  return [
    ...(isBound(read.clusterRoleBindings(), "ClusterRole") ? [] : [`${account} is not bound to ClusterRole ${name}`]),
    ...(isBound(read.roleBindings(), "Role") ? [] : [`${account} is not bound to Role ${name}`]),
  ];
}

export const installationChecks: readonly Check[] = [objects, storedVersions, oneVersion, rights];
