// Orgs, spaces and their namespaces: rights in them, names, adoption and deletion.
import { expect, test } from "vitest";
import { Claim } from "../../../crds/claim/claim.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Org } from "../../../crds/org/org.ts";
import { CF_ROLES, ORG_MANAGER_IN_SPACE } from "../../../crds/roles.ts";
import { isMirroredKey } from "../../../crds/space/namespace-labels.ts";
import { Space } from "../../../crds/space/space.ts";
import { Namespace, RoleBinding, SelfSubjectAccessReview } from "../../../kube/api/builtin.ts";
import { applyApp, currentLRP, makeSpace, untilReady, type ControllerFixtures } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const apply = { fieldManager: "kubectl" };

export function spaceTests(given: () => ControllerFixtures): void {
  test("a role in a space opens the org and the space by name, and a manager's role every space of the org", async () => {
    const { client, namespace } = given();
    const role = (name: string, at: string, clusterRole: string, user: string): Promise<unknown> =>
      client.apply(
        RoleBinding,
        {
          metadata: { name, namespace: at },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
          subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }],
        },
        apply,
      );
    await role("dev-of-alice", namespace, CF_ROLES.space_developer.clusterRole, "alice");
    await role("manager-bob", "acme", CF_ROLES.organization_manager.clusterRole, "bob");
    const may = async (user: string, attributes: object): Promise<boolean> => {
      const review = await client
        .as({ kind: "impersonate", user, groups: ["system:authenticated"] })
        .review(SelfSubjectAccessReview, { spec: { resourceAttributes: attributes } });
      return review.status?.allowed ?? false;
    };
    const org = { group: "cupola.dev", resource: "orgs", verb: "get", name: "acme" };
    const space = { group: "cupola.dev", resource: "spaces", verb: "get", name: "dev", namespace: "acme" };
    await eventually(async () => {
      expect(await may("alice", org)).toBe(true);
      expect(await may("alice", space)).toBe(true);
      expect(await may("bob", { ...org, verb: "update" })).toBe(true);
      expect(await may("bob", { group: "cupola.dev", resource: "apps", verb: "get", namespace })).toBe(true);
    });
    expect(await may("alice", { ...org, verb: "update" })).toBe(false);
    expect(await may("alice", { ...space, name: "other" })).toBe(false);
    expect(await may("carol", org)).toBe(false);

    await client.delete(RoleBinding, { name: "dev-of-alice", namespace });
    await client.delete(RoleBinding, { name: "manager-bob", namespace: "acme" });
    await eventually(async () => expect(await may("alice", org)).toBe(false));
    await eventually(async () =>
      expect(
        (await client.list(RoleBinding, { namespace })).items.filter(
          (binding) => binding.roleRef?.name === ORG_MANAGER_IN_SPACE,
        ),
      ).toEqual([]),
    );
  });

  test("deleting an org deletes its spaces, their objects, namespaces and claims", async () => {
    const { client } = given();
    const doomed = await makeSpace(client, "doomed", "only");
    await applyApp(client, { namespace: doomed.namespace, name: "brief" });
    await eventually(() => currentLRP(client, { namespace: doomed.namespace, name: "brief" }));
    await client.delete(Org, { name: "doomed" });
    await eventually(async () => expect(await client.find(Org, { name: "doomed" })).toBeUndefined(), 60_000);
    expect(await client.find(Namespace, { name: doomed.namespace })).toBeUndefined();
    expect(await client.find(Namespace, { name: "doomed" })).toBeUndefined();
    await eventually(async () => {
      const remainingClaims = (await client.list(Claim)).items.filter((claim) =>
        JSON.stringify(claim.spec).includes("doomed"),
      );
      expect(remainingClaims).toEqual([]);
    });
  }, 90_000);

  test("who takes a name that is taken is suspended and loses rights all the same", async () => {
    const { client } = given();
    const { org, namespace: inside } = await makeSpace(client, "renamed", "dev");
    const manager = { name: "manager-eve", namespace: "renamed" };
    await client.apply(
      RoleBinding,
      {
        metadata: manager,
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: CF_ROLES.organization_manager.clusterRole,
        },
        subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "eve" }],
      },
      apply,
    );
    const subjects = async (): Promise<unknown> =>
      (await client.list(RoleBinding, { namespace: inside })).items
        .filter(({ roleRef }) => roleRef.name === ORG_MANAGER_IN_SPACE)
        .flatMap((binding) => binding.subjects?.map(({ name }) => name));
    await eventually(async () => expect(await subjects()).toEqual(["eve"]));
    await client.patch(
      Space,
      { namespace: "renamed", name: "dev" },
      { type: "merge", body: { spec: { name: "other" } } },
    );
    await makeSpace(client, "renamed", "sibling");
    await client.patch(
      Space,
      { namespace: "renamed", name: "dev" },
      { type: "merge", body: { spec: { name: "sibling" } } },
    );
    await client.patch(Org, org.metadata, { type: "merge", body: { spec: { name: "acme" } } });
    await untilReady(client, Space, { namespace: "renamed", name: "dev" }, { status: "False", reason: "NameTaken" });
    await untilReady(client, Org, org.metadata, { status: "False", reason: "NameTaken" });
    expect((await client.get(Space, { namespace: "renamed", name: "dev" })).status?.name).toBe("other");

    await client.delete(RoleBinding, manager);
    await client.patch(Org, org.metadata, { type: "merge", body: { spec: { suspended: true } } });
    await eventually(async () => expect(await subjects()).toEqual([]));
    await eventually(async () =>
      expect((await client.get(Namespace, { name: "renamed" })).metadata.labels?.[LABELS.suspended]).toBe("org"),
    );
    await eventually(async () =>
      expect((await client.get(Namespace, { name: inside })).metadata.labels?.[LABELS.suspended]).toBe("org"),
    );
  }, 60_000);

  test("namespaces name their org and space and follow the CF labels of both", async () => {
    const { client } = given();
    const prod = { namespace: "labelled", name: "prod" };
    const { namespace } = await makeSpace(client, prod.namespace, prod.name);
    const label = (labels: Record<string, string | null>) =>
      ({ type: "merge", body: { metadata: { labels } } }) as const;
    const mirroredOn = async (name: string): Promise<Record<string, string>> =>
      Object.fromEntries(
        Object.entries((await client.get(Namespace, { name })).metadata.labels ?? {}).filter(
          ([key]) => key === LABELS.orgName || key === LABELS.spaceName || isMirroredKey(key),
        ),
      );
    const names = { [LABELS.orgName]: prod.namespace, [LABELS.spaceName]: prod.name };
    expect(await mirroredOn(namespace)).toEqual(names);
    expect(await mirroredOn(prod.namespace)).toEqual({ [LABELS.orgName]: prod.namespace });

    await client.patch(Org, { name: prod.namespace }, label({ tier: "gold" }));
    await client.patch(Space, prod, label({ "example.com/env": "prod" }));
    const both = { ...names, "org.cupola.dev/tier": "gold", "example.com.space.cupola.dev/env": "prod" };
    await eventually(async () => expect(await mirroredOn(namespace)).toEqual(both));
    await eventually(async () =>
      expect(await mirroredOn(prod.namespace)).toMatchObject({ "org.cupola.dev/tier": "gold" }),
    );

    const second = await makeSpace(client, prod.namespace, "second");
    expect(await mirroredOn(second.namespace)).toMatchObject({ "org.cupola.dev/tier": "gold" });

    await client.patch(Org, { name: prod.namespace }, label({ tier: null }));
    await client.patch(Space, prod, label({ "example.com/env": "test" }));
    await eventually(async () =>
      expect(await mirroredOn(namespace)).toEqual({ ...names, "example.com.space.cupola.dev/env": "test" }),
    );

    const prefix = "long.".repeat(50).slice(0, 249);
    await client.patch(Space, prod, label({ [`${prefix}/team`]: "x", "example.com/env": null }));
    await untilReady(client, Space, prod, { status: "True", reason: "LabelNotMirrored" });
    await eventually(async () => expect(await mirroredOn(namespace)).toEqual(names));
  }, 60_000);

  test("a namespace is adopted by consent only, and given back", async () => {
    const { client } = given();
    await client.create(Namespace, { metadata: { name: "existing" } });
    const key = { namespace: "acme", name: "adopting" };
    await client.create(Space, {
      metadata: { ...key, labels: { env: "prod" } },
      spec: { namespace: "existing" },
    });
    await untilReady(client, Space, key, { status: "False", reason: "NotConsented" });
    await client.patch(
      Namespace,
      { name: "existing" },
      { type: "merge", body: { metadata: { labels: { [LABELS.adoptableBy]: "acme" } } } },
    );
    await untilReady(client, Space, key);
    expect((await client.get(Namespace, { name: "existing" })).metadata.labels).toMatchObject({
      "space.cupola.dev/env": "prod",
    });
    await client.delete(Space, key);
    await eventually(async () => expect(await client.find(Space, key)).toBeUndefined());
    const labels = (await client.get(Namespace, { name: "existing" })).metadata.labels ?? {};
    expect(Object.keys(labels).filter((label) => label.includes("cupola.dev/"))).toEqual([LABELS.adoptableBy]);
  });
}
