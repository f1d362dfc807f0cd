// Constraints in force on a real kube-apiserver: its verdicts and sentences are those of our evaluator, for members of system:masters, too.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Org } from "../../../crds/org/org.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import type { JudgingConstraint } from "../../../crds/policy-template/evaluate.ts";
import { PolicyTemplate, type PolicyTemplateSpec } from "../../../crds/policy-template/policy-template.ts";
import { toSentence } from "../../../crds/policy-template/verdict.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { Space } from "../../../crds/space/space.ts";
import { anApp, aProcess, makeObject } from "../../../crds/testing/objects.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { resourcePath } from "../../../kube/api/resource-ref.ts";
import { App } from "../../../crds/app/app.ts";
import { Process } from "../../../crds/process/process.ts";
import { whyNoControlPlane } from "../../cluster/binaries.ts";
import {
  expectDone,
  judgeOurselves,
  startPolicyWorld,
  toSeen,
  type PolicyWorld,
  type Seen,
  type Write,
} from "./policy-world.ts";
import { runDifferential } from "./differential.ts";
import { constrain, NAMESPACES } from "./places.ts";
import { SHIPPED_CASES } from "./shipped-cases.ts";

const SHIPPED = new Map(
  policyTemplateObjects().map(({ spec }) => {
    const parsed = PolicyTemplate.spec.parse(spec);
    return [parsed.kind, parsed];
  }),
);

function shipped(kind: string): PolicyTemplateSpec {
  const template = SHIPPED.get(kind);
  if (!template) throw new Error(`no template ${kind}`);
  return template;
}

const never = (kind: string, subjects: string[], more: object = {}): PolicyTemplateSpec =>
  PolicyTemplate.spec.parse({ kind, title: kind, subjects, rules: [{ expression: "false", message: "no" }], ...more });

/** Subjects in spaces alone have a namespaceSelector, those of several places none. */
const inSpaces = never("InSpaces", ["App", "Process"]);
const anywhere = never("Anywhere", ["App", "Org", "Space", "SecurityGroup"]);

const reason = whyNoControlPlane();

describe.skipIf(reason !== undefined)(`constraints on kube-apiserver${reason ? `: skipped, ${reason}` : ""}`, () => {
  let world: PolicyWorld;
  let inForce: readonly JudgingConstraint[] = [];
  beforeAll(async () => {
    world = await startPolicyWorld(NAMESPACES);
  }, 180_000);
  afterAll(() => world?.stop());

  const enforce = async (constraints: readonly JudgingConstraint[]): Promise<void> => {
    inForce = constraints;
    await world.enforce(constraints);
  };

  /** The verdict, which must be the same on both sides. */
  const judge = async (write: Write): Promise<Seen> => {
    const seen = await world.judge(write);
    const ours = judgeOurselves(inForce, write, NAMESPACES.get(write.object.metadata.namespace ?? ""));
    expect({ ...seen, sentences: [] }).toEqual({ ...ours, sentences: [] });
    expect(ours.sentences).toEqual(expect.arrayContaining(seen.sentences));
    return seen;
  };

  describe("the shipped templates", () => {
    const numbered = SHIPPED_CASES.map((one, at) => [`${one.kind} ${at}`, at, one] as const);
    /** All are in force at once, each for the objects of its case. */
    const ofCase = (object: KubeObject, at: number): KubeObject => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, case: String(at) } },
    });
    beforeAll(() =>
      enforce(
        numbered.map(([, at, { kind, parameters }]) =>
          constrain(shipped(kind), `case-${at}`, {
            parameters,
            match: { objectLabels: { matchLabels: { case: String(at) } } },
          }),
        ),
      ),
    );

    test("each has a case", () => {
      expect(new Set(SHIPPED_CASES.map(({ kind }) => kind))).toEqual(new Set(SHIPPED.keys()));
    });

    test.each(numbered)("%s", async (_name, at, { kind, good, bad, message }) => {
      expect(await judge({ object: ofCase(good, at) })).toEqual({ allowed: true, sentences: [], warnings: [] });
      const sentence = toSentence(shipped(kind).title, { message, constraint: `case-${at}` });
      expect(await judge({ object: ofCase(bad, at) })).toEqual({ allowed: false, sentences: [sentence], warnings: [] });
    });
  });

  describe("a match", () => {
    const label = { labels: { a: "b" } };
    const objects = [
      anApp(),
      anApp({}, { metadata: { namespace: "acme-prod", ...label } }),
      anApp({}, { metadata: { namespace: "other-dev" } }),
      makeObject(Space, "dev", {
        spec: { name: "dev" },
        metadata: { namespace: "acme", labels: { env: "production" } },
      }),
      makeObject(Org, "acme", { spec: { name: "acme" }, metadata: { labels: { tier: "gold" } } }),
      makeObject(Org, "other", { spec: { name: "other" } }),
      makeObject(SecurityGroup, "g", { spec: { name: "g" }, metadata: { namespace: SYSTEM_NAMESPACE } }),
    ];
    const matches = [
      [{}, 7],
      [{ orgs: ["acme"] }, 4],
      [{ orgs: ["other", "ac*"] }, 6],
      [{ orgs: ["*"] }, 6],
      [{ orgs: ["*er"] }, 2],
      [{ spaces: ["acme/prod-*"] }, 1],
      [{ spaces: ["*/dev"] }, 3],
      [{ spaces: ["*"] }, 4],
      [{ orgs: ["acme"], spaces: ["other/*"] }, 0],
      [{ orgLabels: { matchLabels: { tier: "gold" } } }, 4],
      [{ orgLabels: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["gold"] }] } }, 2],
      [{ orgLabels: {} }, 6],
      [{ spaceLabels: { matchLabels: { "example.com/owner": "ada" } } }, 1],
      [{ spaceLabels: { matchExpressions: [{ key: "env", operator: "Exists" }] } }, 3],
      [{ spaceLabels: { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] } }, 1],
      [{ spaceLabels: { matchExpressions: [{ key: "env", operator: "In", values: [] }] } }, 0],
      [{ objectLabels: { matchLabels: { a: "b" } } }, 1],
      [{ objectLabels: { matchExpressions: [{ key: "a", operator: "NotIn", values: ["b", "c"] }] } }, 6],
      [{ except: [{ space: "acme/dev", reason: "x" }] }, 5],
      [{ except: [{ space: "acme/dev", name: "shop", reason: "x" }] }, 6],
      [{ except: [{ space: "acme/dev", reason: "x", until: "2026-05-31T00:00:00Z" }] }, 7],
    ] as const satisfies [object, number][];

    test.each(matches)("%j: %d of 7 objects", async (match, expected) => {
      const enforcement = { action: "warn" };
      await enforce([
        constrain(anywhere, "any", { match, enforcement }),
        constrain(inSpaces, "apps", { match, enforcement }),
      ]);
      const seen = await Promise.all(objects.map((object) => judge({ object })));
      expect(seen.flatMap(({ warnings }) => warnings).filter((one) => one.includes("(policy any)"))).toHaveLength(
        expected,
      );
      // The selector of namespaces hides no app that the expression matches.
      for (const { warnings } of seen.slice(0, 3)) expect([0, 2]).toContain(warnings.length);
    });
  });

  describe("an update", () => {
    const started = anApp({ state: "Started" }, { metadata: { labels: { a: "b" } } });
    const store = (object: KubeObject): Promise<KubeObject> => storeObject(world, object);
    beforeAll(() => enforce([]));

    test.each<[string, (old: KubeObject) => KubeObject, boolean, string?]>([
      ["as it was", (old) => old, true],
      ["of finalizers alone", (old) => ({ ...old, metadata: { ...old.metadata, finalizers: ["a.b/c"] } }), true],
      ["of a label", (old) => ({ ...old, metadata: { ...old.metadata, labels: { a: "c" } } }), false],
      ["of annotations", (old) => ({ ...old, metadata: { ...old.metadata, annotations: { a: "c" } } }), false],
      [
        "that removes the labels",
        ({ metadata: { labels: _, ...rest }, ...old }) => ({ ...old, metadata: rest }),
        false,
      ],
      ["that stops the app", (old) => changeSpec(old, { state: "Stopped" }), true],
      ["that stops and restarts", (old) => changeSpec(old, { state: "Stopped", restart: "x" }), false],
      [
        "of annotations once it is stopped",
        (old) => ({ ...old, metadata: { ...old.metadata, annotations: { a: "c" } } }),
        false,
        "Stopped",
      ],
      ["of the environment", (old) => changeSpec(old, { env: [{ name: "A", value: "b" }] }), false],
    ])("%s", async (name, change, allowed, state = "Started") => {
      await enforce([]);
      const metadata = { ...started.metadata, name: name.replaceAll(" ", "-") };
      const old = await store({ ...changeSpec(started, { state }), metadata });
      await enforce([constrain(inSpaces, "c", {})]);
      expect((await judge({ object: change(old), oldObject: old })).allowed).toBe(allowed);
    });

    test("of an app under deletion is not judged", async () => {
      await enforce([]);
      const path = resourcePath(App, { namespace: "acme-dev", name: "going" });
      await store({ ...started, metadata: { ...started.metadata, name: "going", finalizers: ["a.b/c"] } });
      const old = (await expectDone(world.api.delete(path))).body as KubeObject;
      const { body } = await world.api.get(path);
      await enforce([constrain(inSpaces, "c", {})]);
      expect(old.metadata.name).toBe("going");
      expect(
        (await judge({ object: changeSpec(body as KubeObject, { restart: "x" }), oldObject: body as KubeObject }))
          .allowed,
      ).toBe(true);
    });
  });

  describe("kubectl scale", () => {
    // No random write has this name.
    const scaled = aProcess(
      { appRef: { name: "scaled" }, instances: 1 },
      { metadata: { name: "scaled.web", labels: { a: "b" } } },
    );
    const scale = async (replicas: number): Promise<Seen> => {
      const path = `${resourcePath(Process, { namespace: "acme-dev", name: scaled.metadata.name, subresource: "scale" })}?dryRun=All`;
      return toSeen(await world.api.patch("merge", path, { spec: { replicas } }));
    };
    beforeAll(async () => {
      await enforce([]);
      await storeObject(world, scaled);
    });

    const limited = never("Scaled", ["Process"], { scale: "object.spec.replicas <= 3" });
    const sentence = (title: string) =>
      `${title}: kubectl scale cannot be judged by this policy; set spec.instances instead (policy c)`;
    test.each<[string, JudgingConstraint, number, string[]]>([
      [
        "without a rule",
        constrain(shipped("MinimumInstances"), "c", { parameters: { min: 1 } }),
        2,
        [sentence("Minimum of instances")],
      ],
      ["of a rule that always holds", constrain(shipped("SizeLimit"), "c", { parameters: { maxMemoryMB: 1 } }), 2, []],
      ["of a rule that holds", constrain(limited, "c", {}), 3, []],
      ["to nothing", constrain(limited, "c", {}), 0, []],
      ["of a rule that does not hold", constrain(limited, "c", {}), 4, [sentence("Scaled")]],
      [
        "of one with labels, which a Scale does not have",
        constrain(limited, "c", { match: { objectLabels: { matchLabels: { a: "b" } } } }),
        4,
        [sentence("Scaled")],
      ],
      ["elsewhere", constrain(limited, "c", { match: { spaces: ["acme/prod-*"] } }), 4, []],
      [
        "of an exempt process",
        constrain(limited, "c", { match: { except: [{ space: "acme/dev", name: "scaled.web", reason: "x" }] } }),
        4,
        [],
      ],
    ])("%s", async (_, constraint, replicas, sentences) => {
      await enforce([constraint]);
      expect(await scale(replicas)).toEqual({ allowed: sentences.length === 0, sentences, warnings: [] });
    });
  });

  test("dryrun lets a write pass without a word", async () => {
    await enforce([constrain(inSpaces, "c", { enforcement: { action: "dryrun" } })]);
    expect(await judge({ object: anApp() })).toEqual({ allowed: true, sentences: [], warnings: [] });
  });

  test("warn lets it pass with the sentence", async () => {
    await enforce([constrain(inSpaces, "c", { enforcement: { action: "warn" } })]);
    expect(await judge({ object: anApp() })).toEqual({
      allowed: true,
      sentences: [],
      warnings: ["InSpaces: no (policy c)"],
    });
  });

  test("300 random writes under random constraints: no difference", async () => {
    const { differences, writes, denied, warnings } = await runDifferential(world, {
      seed: 7,
      writes: 300,
      writesPerRound: 60,
    });
    expect(differences).toEqual([]);
    expect(writes).toBe(300);
    // All outcomes are common, so that a server that never judged would not pass.
    expect(denied).toBeGreaterThan(20);
    expect(denied).toBeLessThan(280);
    expect(warnings).toBeGreaterThan(100);
  });
});

function changeSpec(object: KubeObject, change: object): KubeObject {
  return { ...object, spec: { ...(object["spec"] as object), ...change } };
}

async function storeObject({ api }: PolicyWorld, object: KubeObject): Promise<KubeObject> {
  const ref = object.kind === "Process" ? Process : App;
  const { namespace = "", name } = object.metadata;
  const { uid: _, ...metadata } = object.metadata;
  const made = await api.post(resourcePath(ref, { namespace }), { ...object, metadata });
  if (made.status !== 201) throw new Error(`${name} was not stored: ${made.text}`);
  return made.body as KubeObject;
}
