// Permissions by object name in a space, and consent to adoption.
import { describe, expect, test } from "vitest";
import { ANNOTATIONS, LABELS } from "../../crds/labels.ts";
import { ORG_MANAGER_IN_SPACE } from "../../crds/roles.ts";
import type { RoleBinding } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { anOrg, aSpace } from "../../crds/testing/objects.ts";
import { aBinding, presentPermissions } from "../shared/testing/fixtures.ts";
import type { NamespaceObject } from "../shared/owned-namespace.ts";
import { checkAdoptionConsent, planSegmentProblem, planSpaceNamespace, planSpacePermissions } from "./plan.ts";

type Binding = ObjectOf<typeof RoleBinding>;

describe("rights by name", () => {
  const bindings = {
    org: [aBinding("organization_manager", "bob")],
    space: [
      aBinding("space_developer", "alice"),
      aBinding("space_manager", "carol"),
      aBinding("space_auditor", "ghost", { [LABELS.managedBy]: "space" }),
    ],
  };

  test("of a space: everyone inside reads it, managers change it, the org's managers see into it", () => {
    expect(presentPermissions(planSpacePermissions(aSpace(), "acme-dev", bindings))).toEqual([
      "Role acme get,list,watch spaces/dev",
      "RoleBinding acme alice,carol",
      "Role acme update,patch spaces/dev",
      "RoleBinding acme carol",
      "RoleBinding acme-dev bob",
    ]);
    expect(planSpacePermissions(aSpace(), "acme-dev", bindings).at(-1)).toMatchObject({
      roleRef: { name: ORG_MANAGER_IN_SPACE },
    });
  });

  test("a service account keeps its namespace in bindings of another, also where it left it out", () => {
    const ofRobot = (namespace: string, given: object): Binding => {
      const binding = aBinding("space_developer", "robot");
      return {
        ...binding,
        metadata: { ...binding.metadata, namespace },
        subjects: [{ kind: "ServiceAccount", name: "robot", ...given }],
      };
    };
    const rights = planSpacePermissions(aSpace(), "acme-dev", {
      org: [],
      space: [
        ofRobot("acme-dev", {}),
        ofRobot("acme-dev", { namespace: "acme-dev" }),
        ofRobot("acme-dev", { namespace: "ci" }),
      ],
    });
    expect(rights.find(({ kind }) => kind === "RoleBinding")).toMatchObject({
      metadata: { namespace: "acme" },
      subjects: [
        { kind: "ServiceAccount", namespace: "acme-dev", name: "robot" },
        { kind: "ServiceAccount", namespace: "ci", name: "robot" },
      ],
    });
  });
});

test("the namespace carries GUIDs as labels, and is not suspended when the org is not", () => {
  expect(planSpaceNamespace(aSpace(), anOrg(), { guid: "s", name: "dev" }).labels).toEqual({
    [LABELS.namespaceKind]: "space",
    [LABELS.space]: "s",
    [LABELS.org]: "uid-acme",
    [LABELS.spaceName]: "dev",
    [LABELS.orgName]: "acme",
    [LABELS.suspended]: undefined,
  });
});

test("the namespace mirrors the CF labels of the org and the space", () => {
  const labelled = <T extends { metadata: object }>(object: T, labels: Record<string, string>): T => ({
    ...object,
    metadata: { ...object.metadata, labels },
  });
  const org = labelled(anOrg(), { tier: "gold", "cupola.dev/guid": "g" });
  const space = labelled(aSpace(), { "example.com/env": "prod" });
  expect(planSpaceNamespace(space, org, { guid: "s", name: "dev" }).labels).toMatchObject({
    "org.cupola.dev/tier": "gold",
    "example.com.space.cupola.dev/env": "prod",
    [LABELS.space]: "s",
  });
});

test("an isolation segment that the org may not use is a problem of the space", () => {
  const fast = aSpace({ isolationSegment: "fast" });
  expect(planSegmentProblem(aSpace(), anOrg())).toBeUndefined();
  expect(planSegmentProblem(fast, anOrg({ isolationSegments: ["fast"] }))).toBeUndefined();
  expect(planSegmentProblem(fast, anOrg({ isolationSegments: ["slow"] }))).toMatchObject({
    reason: "SegmentNotAllowed",
    message: expect.stringMatching(/^org acme may not use the isolation segment fast; /) as string,
  });
});

test("the namespace is named after the org's effective name", () => {
  const org = { ...anOrg({ name: "Taken" }), status: { name: "Acme" } };
  expect(planSpaceNamespace(aSpace(), org, { guid: "s", name: "dev" }).annotations).toEqual({
    [ANNOTATIONS.spaceName]: "dev",
    [ANNOTATIONS.orgName]: "Acme",
  });
});

describe("adoption", () => {
  const namespace = (name: string, labels: Record<string, string>): NamespaceObject =>
    ({ metadata: { name, labels } }) as unknown as NamespaceObject;
  test.each([
    ["the org", { [LABELS.adoptableBy]: "acme" }],
    ["the org of this uid, whatever its name", { [LABELS.adoptableBy]: "uid-acme" }],
    ["this space", { [LABELS.adoptableBy]: "acme.dev" }],
    ["anyone", { [LABELS.adoptableBy]: "any" }],
    ["what is this space's already", { [LABELS.ownerUid]: "uid-dev" }],
  ])("is allowed with consent to %s", (_what, labels) =>
    expect(() => checkAdoptionConsent(aSpace(), anOrg(), namespace("n", labels))).not.toThrow(),
  );
  test.each<[string, string, Record<string, string>, string]>([
    ["without consent", "n", {}, "NotConsented"],
    ["with consent to another org", "n", { [LABELS.adoptableBy]: "other" }, "NotConsented"],
    ["of somebody else's", "n", { [LABELS.ownerUid]: "x", [LABELS.adoptableBy]: "acme" }, "NamespaceTaken"],
    ["of a reserved one", "kube-system", { [LABELS.adoptableBy]: "acme" }, "NamespaceReserved"],
  ])("is refused %s", (_what, name, labels, reason) =>
    expect(() => checkAdoptionConsent(aSpace(), anOrg(), namespace(name, labels))).toThrow(
      expect.objectContaining({ reason }),
    ),
  );
  test("is refused to an org that is named like the uid of another", () => {
    const uid = "0190a1b2-0000-7000-8000-000000000001";
    const org = { ...anOrg(), metadata: { ...anOrg().metadata, name: uid } };
    for (const consent of [uid, `${uid}.dev`])
      expect(() => checkAdoptionConsent(aSpace(), org, namespace("n", { [LABELS.adoptableBy]: consent }))).toThrow(
        expect.objectContaining({ reason: "NotConsented" }),
      );
  });
});
