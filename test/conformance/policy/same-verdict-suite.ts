// A fixture at every door: the CF API, the API server, the audit and `cup policy test` give one verdict about each object.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pino } from "pino";
import { judge } from "../../../cli/policy/testing/judge-files.ts";
import { PolicyAudit } from "../../../controllers/policy-template/audit.ts";
import { Domain } from "../../../crds/domain/domain.ts";
import { constraintCRD, constraintId, constraintKindOf } from "../../../crds/policy-template/constraint.ts";
import { policyTemplateObjects } from "../../../crds/policy-template/default-templates.ts";
import { toConstraintPolicies } from "../../../crds/policy-template/policy-objects.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { findSubject } from "../../../crds/policy-template/subjects.ts";
import type { Verdict, Violation } from "../../../crds/policy-template/verdict.ts";
import { SecurityGroup } from "../../../crds/security-group/security-group.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { keyOf, type KubeObject } from "../../../kube/api/object.ts";
import { resourcePath } from "../../../kube/api/resource-ref.ts";
import { createInformers, type Informers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects } from "../../../platform/install.ts";
import { startLivePolicies, type LivePolicies } from "../../../platform/policies/live-policies.ts";
import { eventually } from "../../eventually.ts";
import { type ApiHarness, startApiHarness, to } from "../api/harness.ts";
import type { Replica } from "../api/test-env.ts";
import { connect } from "../kubernetes/api.ts";
import { inParallel, toSeen } from "./policy-world.ts";
import { DENIED_DOMAIN, OBJECTS, POLICIES, type Guids } from "./same-verdict-cases.ts";

/** A verdict as each door can tell it: a write that is only counted has no words. */
interface Told {
  allowed: boolean;
  denials: string[];
  warnings: string[];
}

const titles = new Map(
  policyTemplateObjects().map(({ spec }) => [(spec as { kind: string }).kind, (spec as { title: string }).title]),
);
const sentence = ({ template, message, constraint }: Violation): string =>
  `${titles.get(template)}: ${message} (policy ${constraint})`;

function toTold({ allowed, violations }: Verdict): Told {
  const of = (wanted: string): string[] =>
    violations
      .filter(({ action }) => action === wanted)
      .map(sentence)
      .sort();
  return { allowed, denials: of("deny"), warnings: of("warn") };
}

const asUnique = (lines: readonly string[]): string[] => [...new Set(lines)].sort();

/** `start` starts the API server; the embedded one without it. */
export function judgeAtEveryDoor(start?: Parameters<typeof startApiHarness>[0]): void {
  let bench: ApiHarness;
  let platform: KubeClient;
  let informers: Informers;
  let live: LivePolicies;
  let judging: Replica;
  let guids: Guids;
  let files: Verdict[];

  beforeAll(async () => {
    bench = await startApiHarness(start);
    const { testEnv } = bench;
    const { url: server, ca } = testEnv.cluster;
    platform = createClient({ server, ca, auth: { kind: "token", token: "platform-token" } });
    const log = pino({ level: "silent" });
    informers = createInformers({ client: platform, log });
    live = startLivePolicies({ informers, log });
    judging = await testEnv.replica("judging", { policies: () => live.policies() });
    guids = await makePlaces();
    for (const kind of new Set(POLICIES.map((one) => one.kind))) await install(kind);
    for (const one of POLICIES) await constrain(one);
    await eventually(() => expect(live.policies().byConstraint.size).toBe(POLICIES.length));
    files = await Promise.all(
      OBJECTS.map(
        async ({ object }) =>
          (await judge(policyFiles(), [inSpace(object)], { org: "acme", space: "prod-us" })).json as Verdict,
      ),
    );
  }, 180_000);
  afterAll(async () => {
    await live?.close();
    await informers?.close();
    await platform?.close();
    await bench?.testEnv.stop();
  });

  const policyFiles = (): object[] =>
    POLICIES.map(({ kind, name, spec }) => ({
      apiVersion: "constraints.cupola.dev/v1alpha1",
      kind,
      metadata: { name },
      spec,
    }));

  /** Objects of the CF API are in one space, those of Kubernetes in another, so that names are free; the constraints match both. */
  async function makePlaces(): Promise<Guids> {
    await bench.testEnv.kube.create(Domain, systemObject(Domain, DENIED_DOMAIN, { name: DENIED_DOMAIN }));
    const org = await bench.org("acme");
    const [space] = await Promise.all([
      bench.space(org, "prod-eu"),
      bench.space(org, "prod-us"),
      bench.space(org, "dev"),
    ]);
    const docker = await bench.app(space, "docker", { lifecycle: { type: "docker", data: {} } });
    const runnable = await bench.app(space, "runnable");
    const droplet = await bench.droplet(runnable, "runnable-droplet");
    await bench.call("PATCH", `/v3/apps/${runnable.guid}/relationships/current_droplet`, to(droplet));
    const domains: Record<string, string> = {};
    for (const name of ["apps.example", DENIED_DOMAIN])
      domains[name] = await eventually(async () => {
        const [domain] = (await bench.read(`/v3/domains?names=${name}`)).resources;
        return domain.guid as string;
      });
    return { space: space.guid, docker: docker.guid, runnable: runnable.guid, domains };
  }

  async function install(kind: string): Promise<void> {
    const { kube } = bench.testEnv;
    const name = kind.toLowerCase();
    await applyObjects(
      kube,
      policyTemplateObjects().filter(({ metadata }) => metadata.name === name),
    );
    const template = await kube.get(PolicyTemplate, { name });
    await applyObjects(kube, [constraintCRD(template)]);
    const status = { inForce: { generation: 1, spec: template.spec } };
    await kube.patch(PolicyTemplate, { name }, { type: "merge", body: { status } }, { subresource: "status" });
  }

  async function constrain({ kind, name, spec }: (typeof POLICIES)[number]): Promise<void> {
    const template = await bench.testEnv.kube.get(PolicyTemplate, { name: kind.toLowerCase() });
    await eventually(() => bench.testEnv.kube.create(constraintKindOf(template), { metadata: { name }, spec }), 60_000);
  }

  const inSpace = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { namespace: "acme-prod-us", ...object.metadata },
  });

  test("the fixture has 40 objects and 12 policies, and every outcome is common", () => {
    expect([OBJECTS.length, POLICIES.length]).toEqual([40, 12]);
    const told = files.map(toTold);
    const count = (of: (one: Told) => boolean): number => told.filter(of).length;
    expect(count(({ allowed }) => allowed)).toBeGreaterThan(10);
    expect(count(({ allowed }) => !allowed)).toBeGreaterThan(10);
    expect(count(({ warnings }) => warnings.length > 0)).toBeGreaterThan(10);
    const broken = new Set(files.flatMap(({ violations }) => violations.map(({ constraint }) => constraint)));
    expect([...broken].sort()).toEqual(
      POLICIES.map(({ name }) => name)
        .filter((name) => name !== "elsewhere")
        .sort(),
    );
  });

  test("the CF API, before the first write", async () => {
    const told: Told[] = [];
    for (const { request } of OBJECTS) {
      const { path, body } = request(guids);
      const { status, json, headers } = await judging.call("admin", "POST", path, body);
      expect([201, 202, 422], `${path} ${JSON.stringify(json)}`).toContain(status);
      const warnings = (headers.get("x-cf-warnings") ?? "").split(",").filter(Boolean).map(decodeURIComponent);
      const denials = (json.errors ?? []).map(({ detail }: { detail: string }) => detail);
      told.push({ allowed: status < 300, denials: asUnique(denials), warnings: asUnique(warnings) });
    }
    expect(told).toEqual(files.map(toTold));
  }, 120_000);

  test("the audit of the stored objects: the whole JSON", async () => {
    // The platform's own writes are not judged, so that violating objects can be there.
    await inParallel(OBJECTS, ({ object }) =>
      platform.create(findSubject(object.kind) as never, inSpace(object) as never),
    );
    const audit = new PolicyAudit(informers);
    try {
      audit.replace(live.policies().byConstraint.values());
      const stored = new Set(OBJECTS.map(({ object }) => idOf(inSpace(object))));
      await eventually(async () => {
        const results = [...live.policies().byConstraint.values()].map((one) =>
          audit.find(constraintId(one.constraint)),
        );
        expect(results).not.toContain(undefined);
        const found = results
          .flatMap((one) => one?.violations ?? [])
          .filter(({ object }) => stored.has(idOfJudged(object)));
        expect(sorted(found)).toEqual(sorted(files.flatMap(({ violations }) => violations)));
      });
    } finally {
      await audit.close();
    }
  });

  describe("the API server", () => {
    test("by dry run of the compiled policies", async () => {
      const constraints = [...live.policies().byConstraint.values()];
      await applyObjects(
        bench.testEnv.kube,
        constraints.flatMap(({ template, constraint }) => toConstraintPolicies(template, constraint, new Date())),
      );
      const { api, close } = connect({ ...bench.testEnv.cluster, adminToken: "admin-token" });
      try {
        const answers = async (): Promise<Told[]> =>
          Promise.all(
            OBJECTS.map(async ({ object }) => {
              const { namespace = "", name } = inSpace(object).metadata;
              const path = `${resourcePath(findSubject(object.kind) ?? SecurityGroup, { namespace })}?dryRun=All`;
              const metadata = { ...object.metadata, name: `new-${name}` };
              const { allowed, sentences, warnings } = toSeen(await api.post(path, { ...object, metadata }));
              return { allowed, denials: sentences, warnings };
            }),
          );
        // It tells one denial of a write; the others hold as well.
        const firstOf = (told: Told, { denials }: Told): Told => ({
          ...told,
          denials: told.denials.filter((one) => denials.length === 0 || denials.includes(one)).slice(0, 1),
        });
        await eventually(async () => {
          const told = await answers();
          expect(told).toEqual(files.map((file, at) => firstOf(toTold(file), told[at] ?? toTold(file))));
        }, 30_000);
      } finally {
        await close();
      }
    }, 60_000);
  });

  const idOf = ({ kind, metadata }: KubeObject): string => `${kind} ${keyOf(metadata)}`;
  const idOfJudged = ({ kind, ...key }: Violation["object"]): string => `${kind} ${keyOf(key)}`;
  const sorted = (violations: readonly Violation[]): Violation[] =>
    violations.toSorted((a, b) => compare(order(a), order(b)));
  const order = ({ template, constraint, rule, object }: Violation): string =>
    [template, constraint, rule, idOfJudged(object)].join(" ");
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
}
