// An operator's templates and constraints on an API server with the controllers of policy: from dryrun to deny and back to nothing.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { Space } from "../../../crds/space/space.ts";
import { eventually } from "../../eventually.ts";
import { untilReady } from "../controllers/test-env.ts";
import { PolicyPlatform, type PolicyServer } from "./controllers-platform.ts";
import { OWNED, OWNER } from "./operator.ts";

const NEEDS_OWNER = "Owner: needs the label owner (policy owner)";
const ALLOWED = { allowed: true, sentences: [], warnings: [] };
const DENIED = { allowed: false, sentences: [NEEDS_OWNER], warnings: [] };
const parameters = { label: "owner" };
const deny = { parameters, enforcement: { action: "deny" } };
/** Two seconds on a machine that has nothing else to do. */
const OPENED_MS = 10_000;
/** The garbage collector of kube-controller-manager learns new kinds every 30 s. */
const COLLECTED_MS = 90_000;

export function policyControllerTests(server: { name: string; start(): Promise<PolicyServer> }): void {
  describe(`policy controllers on ${server.name}`, () => {
    let platform: PolicyPlatform;

    beforeAll(async () => {
      platform = new PolicyPlatform(await server.start());
      await platform.start();
      await platform.installTemplate(OWNED);
    }, 180_000);
    afterAll(() => platform?.stop());

    const untilDenied = (): Promise<void> => eventually(async () => expect(await platform.create()).toEqual(DENIED));
    const untilAllowed = (deadlineMs?: number): Promise<void> =>
      eventually(async () => expect(await platform.create()).toEqual(ALLOWED), deadlineMs);
    const untilNoPolicies = (deadlineMs?: number): Promise<void> =>
      eventually(async () => expect(await platform.policies()).toEqual([]), deadlineMs);
    const untilAudited = (totalViolations: number): Promise<void> =>
      eventually(async () => expect((await platform.constraint()).status).toMatchObject({ totalViolations }));
    const violation = { constraint: "Owned/owner", action: "deny", kind: "App", name: "bare", message: NEEDS_OWNER };
    /** Waits until the app itself shows these violations. */
    const untilApp = (reason: string, violations: readonly object[]): Promise<void> =>
      eventually(async () => {
        const { status } = await platform.client.get(App, { namespace: platform.namespace, name: "bare" });
        expect(status?.policyViolations ?? []).toEqual(violations);
        expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "CompliesWithPolicy", reason }));
      });
    const release = async (): Promise<void> => {
      await platform.release();
      await untilNoPolicies();
      await untilAllowed();
    };

    test("a template makes a kind that discovery shows", async () => {
      await eventually(async () => {
        const { body } = await platform.api.get("/apis/constraints.cupola.dev/v1alpha1");
        expect(body.resources).toContainEqual(expect.objectContaining({ kind: "Owned", name: "owned" }));
      });
    });

    test("a constraint goes from dryrun, which shows who would be hit, over warn to deny", async () => {
      await platform.constrain({ parameters, enforcement: { action: "dryrun" } });
      await untilAudited(1);
      const { status } = await platform.untilEnforced();
      expect(status?.violations).toEqual([
        { kind: "App", namespace: platform.namespace, name: "bare", action: "dryrun", message: NEEDS_OWNER },
      ]);
      expect(await platform.create()).toEqual(ALLOWED);
      await untilApp("PolicyCounts", [{ ...violation, action: "dryrun" }]);

      await platform.constrain({ parameters, enforcement: { action: "warn" } });
      await eventually(async () => expect(await platform.create()).toEqual({ ...ALLOWED, warnings: [NEEDS_OWNER] }));

      await platform.constrain(deny);
      await untilDenied();
      expect(await platform.create({ owner: "ada" })).toEqual(ALLOWED);
      await untilApp("PolicyDenies", [violation]);
      const enforced = await platform.untilEnforced();
      expect(enforced.status).toMatchObject({ enforced: true, by: "ValidatingAdmissionPolicy", templateGeneration: 1 });
    });

    test("an exception passes and ends by itself", async () => {
      const except = (more: object) => ({
        ...deny,
        match: { except: [{ space: "acme/dev", reason: "CHG-17", ...more }] },
      });
      await platform.constrain(deny);
      await untilDenied();
      await platform.constrain(except({ name: "shop" }));
      await untilAllowed();
      await untilAudited(1);
      await platform.constrain(except({}));
      await untilAudited(0);

      const until = new Date(Date.now() + 4_000).toISOString();
      await platform.constrain(except({ until }));
      await untilDenied();
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
      await untilAudited(1);
    });

    test("a template with a mistake leaves the rules from before in force, and says what is wrong", async () => {
      await platform.constrain(deny);
      await untilDenied();
      await platform.applyTemplate({ ...OWNED, rules: [{ expression: "object.spec." }] } as typeof OWNED);
      const { status } = await untilReady(
        platform.client,
        PolicyTemplate,
        { name: "owned" },
        { status: "False", reason: "InvalidRule" },
      );
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({
          message: expect.stringMatching(/^spec\.rules\[0\]\.expression: .* stay in force$/s),
        }),
      );
      expect(await platform.create()).toEqual(DENIED);
      await platform.stopControllers();
      await platform.startControllers();
      await platform.constrain({ ...deny, parameters: { label: "team" } });
      const [denial] = DENIED.sentences;
      await eventually(async () =>
        expect(await platform.create()).toEqual({
          ...DENIED,
          sentences: [denial?.replace("label owner", "label team")],
        }),
      );
      await platform.installTemplate(OWNED);
    });

    test("parameters that a new schema refuses leave the policy from before", async () => {
      await platform.constrain(deny);
      await untilDenied();
      const schema = { type: "object", properties: { label: { type: "string", maxLength: 3 } } };
      await platform.installTemplate({ ...OWNED, parameters: { schema } } as typeof OWNED);
      await eventually(async () =>
        expect((await platform.constraint()).status?.conditions).toContainEqual(
          expect.objectContaining({ type: "Ready", status: "False", reason: "InvalidParameters" }),
        ),
      );
      expect(await platform.create()).toEqual(DENIED);
      await platform.installTemplate(OWNED);
      await platform.untilEnforced();
    });

    test("a constraint with a bad regular expression is refused, with its place", async () => {
      const hosts = { kind: "RegexHosts", name: "hosts" };
      const pattern = { type: "string", maxLength: 20, format: "regex" };
      await platform.installTemplate({
        ...OWNED,
        kind: hosts.kind,
        subjects: ["Route"],
        parameters: { schema: { type: "object", required: ["pattern"], properties: { pattern } } },
        rules: [{ expression: "object.spec.host.matches(variables.params.pattern)" }],
      } as never);
      await platform.constrain({ parameters: { pattern: "^[a-z]+$" } }, hosts);
      await expect(platform.constrainOnce({ parameters: { pattern: "[a-z" } }, hosts)).rejects.toThrow(
        /spec\.parameters\.pattern: .*must be a regular expression that RE2 takes/,
      );
      await platform.deleteTemplate(hosts);
    });

    test("a change of a constraint costs five writes at most, and one for each app that it concerns; then nothing is written", async () => {
      await platform.constrain(deny);
      await platform.untilEnforced();
      await untilAudited(1);
      await platform.untilQuiet();
      await platform.constrain({ ...deny, parameters: { label: "team" } });
      await platform.untilEnforced();
      await eventually(async () =>
        expect((await platform.constraint()).status?.violations).toMatchObject([
          { message: expect.stringContaining("label team") },
        ]),
      );
      await platform.untilQuiet((writes) => expect(writes.length, writes.join("\n")).toBeLessThanOrEqual(6));
      await delay(3_000);
      expect(platform.writes).toEqual([]);
    });

    test("a space's changed CF label moves it into the match and out of it", async () => {
      const label = (env: string | null) =>
        platform.client.patch(
          Space,
          { namespace: "acme", name: "dev" },
          { type: "merge", body: { metadata: { labels: { env } } } },
        );
      await platform.constrain({ ...deny, match: { spaceLabels: { matchLabels: { env: "production" } } } });
      await platform.untilEnforced();
      await untilAllowed();
      await untilAudited(0);
      await label("production");
      await untilDenied();
      await untilAudited(1);
      await label(null);
      await untilAllowed();
      await untilAudited(0);
    });

    test("the objects of Kubernetes itself are never judged", async () => {
      const never = { name: "never", kind: "Never" };
      await platform.installTemplate({
        kind: "Never",
        title: "Never",
        subjects: ["App", "Org", "Space", "SecurityGroup"],
        rules: [{ expression: "false" }],
      } as never);
      await platform.constrain({}, never);
      await platform.untilEnforced(never);
      await eventually(async () => expect((await platform.create()).allowed).toBe(false));
      const { api } = platform;
      const answers = await Promise.all([
        api.post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?dryRun=All", {
          metadata: { name: "probe" },
        }),
        api.post("/api/v1/nodes?dryRun=All", { apiVersion: "v1", kind: "Node", metadata: { name: "probe" } }),
        api.post("/api/v1/namespaces/kube-system/pods?dryRun=All", {
          metadata: { name: "probe" },
          spec: { containers: [{ name: "a", image: "example.com/a:1" }] },
        }),
      ]);
      for (const { text } of answers) expect(text).not.toContain("ValidatingAdmissionPolicy");
      expect(answers[0].status).toBe(201);
      await platform.deleteTemplate(never);
      await eventually(async () => expect((await platform.policies()).join()).not.toContain("never."));
    });

    test("deleting a constraint opens at once, and its policies are gone", async () => {
      await platform.constrain(deny);
      await platform.untilEnforced();
      await untilDenied();
      const start = performance.now();
      await platform.release();
      await untilNoPolicies();
      await untilAllowed();
      // kube-apiserver reads its policies once a second.
      expect(performance.now() - start).toBeLessThan(OPENED_MS);
      await untilApp("Complies", []);
    });

    test("without controllers the rule denies, and deleting the constraint opens", async () => {
      await platform.constrain(deny);
      await platform.untilEnforced();
      await untilDenied();
      await platform.stopControllers();
      try {
        expect(await platform.create()).toEqual(DENIED);
        await platform.release();
        await untilNoPolicies(COLLECTED_MS);
        await untilAllowed();
      } finally {
        await platform.startControllers();
      }
    }, 150_000);

    test("a template that goes takes its constraints and their policies with it, and may come back at once", async () => {
      await platform.constrain(deny);
      await platform.untilEnforced();
      await untilDenied();
      await platform.deleteTemplate(OWNED);
      await platform.installTemplate(OWNED);
      await untilNoPolicies();
      await untilAllowed();
      await eventually(async () =>
        expect((await platform.api.get("/apis/constraints.cupola.dev/v1alpha1/owned")).body.items).toEqual([]),
      );
      await platform.constrain(deny);
      await platform.untilEnforced();
      await release();
    }, 150_000);

    test("a kind that went while no controller ran leaves no policies", async () => {
      await platform.constrain(deny);
      await platform.untilEnforced();
      await platform.stopControllers();
      await platform.deleteTemplate(OWNED);
      await eventually(
        async () =>
          expect((await platform.api.get(`/apis/constraints.cupola.dev/v1alpha1/owned/${OWNER.name}`)).status).toBe(
            404,
          ),
        COLLECTED_MS,
      );
      await platform.startControllers();
      await untilNoPolicies();
      await untilAllowed();
    }, 150_000);
  });
}
