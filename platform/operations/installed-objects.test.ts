// The comparison of installed policies and kinds with those of this version.
import { expect, test } from "vitest";
import { listManifests } from "../../crds/manifests.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { planInstallGaps } from "./installed-objects.ts";

type Json = Record<string, unknown>;
interface Spec extends Json {
  validations: { expression: string }[];
  matchConstraints: Json & { resourceRules: Json[] };
  versions: { schema: { openAPIV3Schema: { properties: Json } } }[];
}
type Change = (spec: Spec) => void;

const OBJECTS = listManifests().flatMap(({ objects }) => objects);
const ofKind = (kind: string): KubeObject => OBJECTS.find((object) => object.kind === kind)!;

function gapsAfter(kind: string, change: (object: KubeObject & { spec: Spec }) => void): string[] {
  const expected = ofKind(kind);
  const found = structuredClone(expected) as KubeObject & { spec: Spec };
  change(found);
  return planInstallGaps([expected], () => found);
}

const POLICY = "ValidatingAdmissionPolicy";
const BINDING = "ValidatingAdmissionPolicyBinding";
const KIND = "CustomResourceDefinition";

test.each<[string, string, Change]>([
  ["an expression that allows all", POLICY, (spec) => (spec.validations[0]!.expression = "true")],
  [
    "a condition that skips requests",
    POLICY,
    (spec) => (spec["matchConditions"] = [{ name: "x", expression: "false" }]),
  ],
  ["a failure that lets pass", POLICY, (spec) => (spec["failurePolicy"] = "Ignore")],
  ["a rule for a resource less", POLICY, (spec) => (spec.matchConstraints.resourceRules = [])],
  ["a selector of no object", POLICY, (spec) => (spec.matchConstraints.objectSelector = { matchLabels: { a: "b" } })],
  ["an action that only warns", BINDING, (spec) => (spec["validationActions"] = ["Warn"])],
  ["a binding of few namespaces", BINDING, (spec) => (spec["matchResources"] = { matchPolicy: "Equivalent" })],
  ["a field less", KIND, (spec) => delete spec.versions[0]?.schema.openAPIV3Schema.properties["spec"]],
])("names %s", (_change, kind, change) => {
  const { name } = ofKind(kind).metadata;
  expect(gapsAfter(kind, ({ spec }) => change(spec))).toEqual([`${kind} ${name} was changed or is of another version`]);
});

test.each<[string, string, Change]>([
  ["nothing", POLICY, () => undefined],
  [
    "defaults of the API server",
    POLICY,
    ({ matchConstraints }) => {
      Object.assign(matchConstraints, { matchPolicy: "Equivalent", objectSelector: {} });
      matchConstraints.resourceRules[0]!["scope"] = "*";
    },
  ],
  ["more fields of a newer version", KIND, (spec) => (spec["conversion"] = { strategy: "None" })],
])("accepts %s", (_change, kind, change) => {
  expect(gapsAfter(kind, ({ spec }) => change(spec))).toEqual([]);
});

test("names what is missing and what is being deleted", () => {
  const expected = ofKind(BINDING);
  const { name } = expected.metadata;
  expect(planInstallGaps([expected], () => undefined)).toEqual([`${BINDING} ${name} is missing`]);
  expect(gapsAfter(BINDING, ({ metadata }) => (metadata.deletionTimestamp = "2026-01-01T00:00:00Z"))).toEqual([
    `${BINDING} ${name} is being deleted`,
  ]);
});
