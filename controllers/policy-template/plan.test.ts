// Plans of templates and constraints: a mistake leaves the last good state, and status says no more than the cache has seen.
import { describe, expect, test } from "vitest";
import { CONSTRAINTS_GROUP } from "../../crds/groups.ts";
import { constraintCRD, type Constraint } from "../../crds/policy-template/constraint.ts";
import { toConstraintPolicies } from "../../crds/policy-template/policy-objects.ts";
import { PolicyTemplate } from "../../crds/policy-template/policy-template.ts";
import { makeObject } from "../../crds/testing/objects.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { planConstraint, planTemplate, wasEnforced, type ConstraintPlanInput } from "./plan.ts";

const NOW = new Date("2026-06-01T00:00:00Z");
const rules = PolicyTemplate.spec.parse({
  kind: "Demo",
  title: "Demo",
  subjects: ["App"],
  parameters: { schema: { type: "object", properties: { max: { type: "integer" } } } },
  rules: [{ expression: "true" }],
});
const broken = { ...rules, rules: [{ expression: "object.spec." }] };

const reading = (...objects: KubeObject[]): Pick<Reader, "find"> => ({
  find: (ref, { name }) => objects.find((one) => one.kind === ref.kind && one.metadata.name === name) as never,
});

describe("a template", () => {
  const template = (spec: object = rules, status?: object): PolicyTemplate =>
    makeObject(PolicyTemplate, "demo", { spec, metadata: { generation: 2 }, ...(status && { status }) });
  const crd = (uid: string, established = true): KubeObject => ({
    ...constraintCRD({ spec: rules }),
    metadata: {
      name: "demo.constraints.cupola.dev",
      ownerReferences: [{ apiVersion: "cupola.dev/v1alpha1", kind: "PolicyTemplate", name: "demo", uid }],
    },
    status: { conditions: [{ type: "Established", status: established ? "True" : "False" }] },
  });

  test("without a fault makes its kind, and is ready once the API server serves it", () => {
    const inForce = { generation: 2, spec: rules };
    const children = [expect.objectContaining({ kind: "CustomResourceDefinition" })];
    const ready = { status: "False", reason: "KindPending" };
    expect(planTemplate(template(), reading())).toMatchObject({ children, status: { inForce }, ready });
    expect(planTemplate(template(), reading(crd("uid-demo", false)))).toMatchObject({ children, ready });
    expect(planTemplate(template(), reading(crd("uid-demo")))).toEqual({ children, status: { inForce } });
  });

  test("with a first fault makes nothing", () => {
    const plan = planTemplate(template(broken), reading());
    expect(plan).toMatchObject({ children: [], ready: { status: "False", reason: "InvalidRule", isFailure: true } });
    expect(plan.ready?.message).not.toContain("stay in force");
  });

  test("with a fault after a good spec keeps the kind and the rules of that spec", () => {
    const good = { ...rules, title: "Before" };
    const plan = planTemplate(
      template({ ...broken, title: "After" }, { inForce: { generation: 1, spec: good } }),
      reading(crd("uid-demo")),
    );
    expect(plan.children).toEqual([constraintCRD({ spec: good })]);
    expect(plan.ready).toMatchObject({ status: "False", reason: "InvalidRule", isFailure: true });
    expect(plan.ready?.message).toMatch(/^spec\.rules\[0\]\.expression: .*; the rules from before stay in force$/s);
    expect(plan).not.toHaveProperty("status");
  });

  test("leaves the kind of somebody else alone", () => {
    expect(planTemplate(template(), reading(crd("another-uid")))).toMatchObject({
      children: [],
      ready: { status: "False", reason: "KindTaken", message: expect.stringContaining("demo.constraints.cupola.dev") },
    });
  });
});

describe("a constraint", () => {
  const aConstraint = (spec: object = {}, status?: object): Constraint =>
    ({
      apiVersion: `${CONSTRAINTS_GROUP}/v1alpha1`,
      kind: "Demo",
      metadata: { name: "c", uid: "u", generation: 1 },
      spec: { enforcement: { action: "deny" }, ...spec },
      ...(status && { status }),
    }) as Constraint;
  const plan = (constraint: Constraint, more: Partial<ConstraintPlanInput> = {}, stored: KubeObject[] = []) =>
    planConstraint({ constraint, rules, generation: 3, audit: undefined, ...more }, reading(...stored), NOW);
  const policiesOf = (constraint: Constraint): KubeObject[] => toConstraintPolicies(rules, constraint, NOW);

  test("is enforced only when the API server has this version of each policy", () => {
    const [policy, binding] = policiesOf(aConstraint());
    const outdated = policiesOf(aConstraint({ match: { orgs: ["other"] } }));
    const isEnforced = (...stored: (KubeObject | undefined)[]): unknown =>
      plan(aConstraint(), {}, stored as KubeObject[]).status?.["enforced"];
    expect(isEnforced(policy!, binding!)).toBe(true);
    expect(isEnforced()).toBe(false);
    expect(isEnforced(policy!)).toBe(false);
    expect(isEnforced(binding!)).toBe(false);
    expect(isEnforced(outdated[0], binding!)).toBe(false);
  });

  test("says by which rules and with which effect it is enforced", () => {
    const enforced = (action: string) => {
      const constraint = aConstraint({ enforcement: { action } });
      return plan(constraint, {}, policiesOf(constraint));
    };
    expect(enforced("deny")).toMatchObject({
      children: policiesOf(aConstraint()),
      status: { enforced: true, by: "ValidatingAdmissionPolicy", templateGeneration: 3 },
      conditions: [
        { type: "Enforced", status: "True", reason: "InForce", message: expect.stringContaining("refused") },
      ],
    });
    expect(enforced("warn").conditions?.[0]?.message).toContain("are warned of");
    expect(enforced("dryrun").conditions?.[0]?.message).toContain("only counted");
    expect(plan(aConstraint()).status).not.toHaveProperty("templateGeneration");
    expect(plan(aConstraint()).conditions).toMatchObject([{ type: "Enforced", status: "False", reason: "Applying" }]);
  });

  test("whose rules read other objects has no policies, and says so", () => {
    const reads = [{ as: "tasks", kind: "Task", scope: "space" as const }];
    const all = { enforced: true, pendingReplicas: [], errors: [] };
    const judged = (acknowledgement: object | undefined, before?: object) =>
      plan(aConstraint({}, before), { rules: { ...rules, reads }, acknowledgement: acknowledgement as typeof all });
    const enforced = { enforced: true, by: "StartGate", templateGeneration: 3 };
    expect(judged(all)).toMatchObject({
      children: [],
      status: enforced,
      conditions: [{ status: "True", reason: "InForce" }],
    });
    expect(judged({ ...all, enforced: false, pendingReplicas: ["b"] })).toMatchObject({
      status: { enforced: false },
      conditions: [{ status: "False", reason: "Applying" }],
    });
    const error = "it may not watch tasks.cupola.dev";
    expect(judged({ ...all, enforced: false, errors: [{ replica: "b", error }] }).conditions).toMatchObject([
      { status: "False", reason: "ReplicaFails", message: `b: ${error}` },
    ]);
    // While replicas cannot be read, the status stays as it was.
    expect(judged(undefined).status).toMatchObject({ enforced: false });
    const before = { ...enforced, observedGeneration: 1 };
    expect(judged(undefined, before).status).toMatchObject({ enforced: true });
    expect([wasEnforced(aConstraint({}, before), 3), wasEnforced(aConstraint({}, before), 4)]).toEqual([true, false]);
  });

  test("with parameters that do not fit leaves what is in force", () => {
    const result = plan(aConstraint({ parameters: { max: "x" } }));
    expect(result).not.toHaveProperty("children");
    expect(result).not.toHaveProperty("conditions");
    expect(result.ready).toMatchObject({ status: "False", reason: "InvalidParameters", isFailure: true });
    expect(result.ready?.message).toMatch(/^spec\.parameters\.max: .*; what was in force before stays$/);
  });

  test("is planned again when its next exception ends, at the latest after a day", () => {
    const until = (...ends: string[]) =>
      plan(aConstraint({ match: { except: ends.map((end) => ({ space: "acme/dev", reason: "x", until: end })) } }));
    expect(until("2026-06-01T00:00:07Z", "2026-06-01T00:00:05Z").requeueAfterMs).toBe(5_000);
    expect(until("2026-12-01T00:00:00Z").requeueAfterMs).toBe(86_400_000);
    expect(until("2026-05-01T00:00:00Z")).not.toHaveProperty("requeueAfterMs");
  });

  describe("shows the audit", () => {
    const violation = (name: string) => ({
      template: "Demo",
      constraint: "c",
      generation: 1,
      action: "deny" as const,
      rule: 0,
      message: "no",
      object: { kind: "App", namespace: "acme-dev", name },
    });
    const audit = (...names: string[]) => ({ objects: 40, unknown: 0, violations: names.map(violation) });

    test("with its first 20 violations, their number and its time", () => {
      const many = audit(...Array.from({ length: 25 }, (_, at) => `app-${String(at).padStart(2, "0")}`));
      const { status } = plan(aConstraint(), { audit: many });
      expect(status).toMatchObject({ audit: { at: "2026-06-01T00:00:00Z", objects: 40 }, totalViolations: 25 });
      expect(status?.["violations"]).toHaveLength(20);
      expect((status?.["violations"] as unknown[])[0]).toEqual({
        kind: "App",
        namespace: "acme-dev",
        name: "app-00",
        action: "deny",
        message: "Demo: no (policy c)",
      });
    });

    test("with the time from before while nothing changed", () => {
      const before = plan(aConstraint(), { audit: audit("a") }).status;
      // An API server returns members in an order of its own.
      const violations = (before?.["violations"] as object[]).map((one) =>
        Object.fromEntries(Object.entries(one).sort()),
      );
      const seen = { ...before, violations, audit: { at: "2026-01-01T00:00:00Z", objects: 39 } };
      const again = (result: typeof seen, names: string[]) =>
        plan(aConstraint({}, result), { audit: audit(...names) }).status?.["audit"];
      expect(again(seen, ["a"])).toEqual(seen.audit);
      expect(again(seen, ["b"])).toEqual({ at: "2026-06-01T00:00:00Z", objects: 40 });
      expect(again(seen, [])).toEqual({ at: "2026-06-01T00:00:00Z", objects: 40 });
    });

    test("with the objects whose verdict is not known", () => {
      const at = "2026-06-01T00:00:00Z";
      const { status } = plan(aConstraint(), { audit: { ...audit(), unknown: 3 } });
      expect(status?.["audit"]).toEqual({ at, objects: 40, unknown: 3 });
      expect(plan(aConstraint({}, status), { audit: audit() }).status?.["audit"]).toEqual({ at, objects: 40 });
    });

    test("not before it has seen all objects, and with invalid parameters, too", () => {
      expect(plan(aConstraint()).status).not.toHaveProperty("audit");
      const invalid = plan(aConstraint({ parameters: { max: "x" } }), { audit: audit("a") });
      expect(invalid.status).toMatchObject({ totalViolations: 1 });
    });
  });
});
