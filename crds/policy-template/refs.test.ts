// Rules that read other objects: in which scope, what is not known, and that they are asked only where a constraint matches.
import { describe, expect, test, vi } from "vitest";
import { Namespace } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import { CONSTRAINTS_GROUP } from "../groups.ts";
import { Task } from "../task/task.ts";
import { anApp, makeObject } from "../testing/objects.ts";
import { actionAtStart, type Constraint } from "./constraint.ts";
import { evaluate, prepareConstraint, toUndecidedSentence } from "./evaluate.ts";
import { toNamespaceLabels } from "../space/namespace-labels.ts";
import { toConstraintPolicies } from "./policy-objects.ts";
import { PolicyTemplate } from "./policy-template.ts";
import { createRefs, MAX_READ_OBJECTS, withPlanned, type ListObjects } from "./refs.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const template = (scope = "space") =>
  PolicyTemplate.spec.parse({
    kind: "FewTasks",
    title: "Few tasks",
    subjects: ["Task"],
    reads: [{ as: "tasks", kind: "Task", scope }],
    rules: [
      {
        expression: "refs.tasks.size() < 2",
        messageExpression: "'there are ' + string(refs.tasks.size()) + ' already'",
      },
    ],
  });

const constraint = (spec: object = {}): Constraint =>
  ({
    apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
    kind: "FewTasks",
    metadata: { name: "few", generation: 1 },
    spec: { enforcement: { action: "deny" }, ...spec },
  }) as Constraint;

const task = (name: string, namespace = "acme-dev"): KubeObject =>
  makeObject(Task, name, { spec: { appRef: { name: "shop" }, command: "x" }, metadata: { namespace } });
const namespace = (name: string, org: string): KubeObject => ({
  apiVersion: "v1",
  kind: Namespace.kind,
  metadata: { name, labels: toNamespaceLabels({ org: { name: org }, space: { name } }) },
});

/** Lists like a cache. */
const listOf =
  (...objects: KubeObject[]): ListObjects =>
  (ref, filter) =>
    objects.filter(
      ({ kind, metadata }) =>
        kind === ref.kind &&
        (filter.namespace === undefined || metadata.namespace === filter.namespace) &&
        Object.entries(filter.labels ?? {}).every(([key, value]) => metadata.labels?.[key] === value),
    );

const namespaceLabels = toNamespaceLabels({ org: { name: "acme" }, space: { name: "dev" } });

function judge(list: ListObjects | undefined, { scope = "space", match = {} } = {}) {
  const object = task("new");
  const refs = list && createRefs(list, { object, namespaceLabels });
  const prepared = prepareConstraint(template(scope), constraint({ match }), NOW);
  return evaluate([prepared], { point: "start", operation: "CREATE", object, namespaceLabels, refs });
}

test("a rule counts others, and never the judged object itself", () => {
  expect(judge(listOf(task("new"), task("a"))).allowed).toBe(true);
  expect(judge(listOf(task("new"), task("a"), task("b"))).violations).toMatchObject([
    { constraint: "few", message: "there are 2 already" },
  ]);
});

test.each([
  ["space", 1],
  ["org", 2],
  ["platform", 3],
])("the scope %s has %i others", (scope, others) => {
  const list = listOf(
    ...[namespace("acme-dev", "acme"), namespace("acme-prod", "acme"), namespace("other-dev", "other")],
    ...[task("a"), task("b", "acme-prod"), task("c", "other-dev")],
  );
  const refs = createRefs(list, { object: task("new"), namespaceLabels });
  expect(refs({ as: "tasks", kind: "Task", scope: scope as never })).toHaveLength(others);
});

describe("the verdict is unknown", () => {
  const unknown = { allowed: true, violations: [], skipped: [], unknown: ["FewTasks/few"] };

  test("where nobody has the objects, or their list cannot be read", () => {
    expect(judge(undefined)).toEqual(unknown);
    expect(judge(() => undefined)).toEqual(unknown);
    expect(judge(() => undefined, { scope: "org" })).toEqual(unknown);
  });

  test("when one namespace of the org cannot be read", () => {
    const known = listOf(namespace("acme-dev", "acme"), namespace("acme-prod", "acme"));
    const list: ListObjects = (ref, filter) => (filter.namespace === "acme-prod" ? undefined : known(ref, filter));
    expect(judge(list, { scope: "org" })).toEqual(unknown);
  });

  test("with more objects than are read", () => {
    const many = Array.from({ length: MAX_READ_OBJECTS + 1 }, (_none, at) => task(`t${at}`));
    expect(judge(listOf(...many))).toEqual(unknown);
  });

  test("only where the constraint matches; elsewhere nothing is listed", () => {
    const list = vi.fn(() => undefined);
    expect(judge(list, { match: { orgs: ["other"] } })).toEqual({ ...unknown, unknown: [] });
    expect(list).not.toHaveBeenCalled();
  });

  test("and its sentence names the policy and the kind", () => {
    expect(toUndecidedSentence(prepareConstraint(template(), constraint(), NOW))).toBe(
      "Few tasks: cannot be decided now, since its Task objects cannot be read or are more than 1000 (policy few)",
    );
  });
});

test("objects that are planned stand in for stored ones", () => {
  const stored = listOf(task("a"), task("b", "acme-prod"));
  const list = withPlanned(stored, [task("a"), task("c"), anApp()]);
  expect(list(Task, { namespace: "acme-dev" })?.map(({ metadata: { name } }) => name)).toEqual(["a", "c"]);
  expect(withPlanned(() => undefined, [task("a")])(Task, {})).toBeUndefined();
});

test("no ValidatingAdmissionPolicy is compiled of rules that read others", () => {
  expect(toConstraintPolicies(template(), constraint(), NOW)).toEqual([]);
});

test("a start asks constraints with reads, and others where their spec names it", () => {
  const points = (action: string) => ({ enforcement: { action: "deny", points: [{ point: "start", action }] } });
  const { reads: _none, ...without } = template();
  expect([
    actionAtStart(template(), constraint()),
    actionAtStart(template(), constraint(points("warn"))),
    actionAtStart(without, constraint()),
    actionAtStart(without, constraint(points("dryrun"))),
  ]).toEqual(["deny", "warn", undefined, "dryrun"]);
});
