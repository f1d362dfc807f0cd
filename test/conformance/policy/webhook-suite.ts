// Rules that read other objects, at the write: refused to kubectl by the webhook; and writes pass when it is gone, or takes connections and never answers.
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { anApp } from "../../../crds/testing/objects.ts";
import { Lease } from "../../../kube/api/builtin.ts";
import type { Condition } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeError } from "../../../kube/client/errors.ts";
import { eventually } from "../../eventually.ts";
import { applyApp, currentLRP, makeSpace, readyOf, untilReady } from "../controllers/test-env.ts";
import { findConfiguration, startTestEnv, type Endpoint, type TestEnv } from "../webhook/test-env.ts";

const ONE_STARTED = {
  kind: "OneStarted",
  title: "One app",
  subjects: ["App"],
  reads: [{ as: "apps", kind: "App", scope: "space" }],
  rules: [
    {
      expression: "object.spec.state != 'Started' || !refs.apps.exists(a, a.spec.state == 'Started')",
      messageExpression: "'another app of space ' + variables.space + ' is started'",
    },
  ],
};
const SENTENCE = "One app: another app of space dev is started (policy one)";
const REFUSED = { refusal: expect.stringContaining(`denied the request: ${SENTENCE}`), warnings: [] };
const constraints = constraintKindOf({ spec: ONE_STARTED }) as unknown as ResourceRef<Constraint>;
const asOperator = { fieldManager: "operator", force: true };
/** The configured timeout is two seconds. */
const BOUNDED_MS = 10_000;
/** Far less than the timeout. */
const AT_ONCE_MS = 1_500;

export function policyWebhookTests(server: { name: string; start(): Promise<Endpoint> }): void {
  describe(`the webhook of operator policy on ${server.name}`, () => {
    let endpoint: Endpoint;
    let env: TestEnv;
    let namespace: string;

    beforeAll(async () => {
      endpoint = await server.start();
      env = await startTestEnv(endpoint, ["api", "controllers", "policies"]);
      ({ namespace } = await makeSpace(env.admin, "acme", "dev"));
      await env.admin.apply(
        PolicyTemplate,
        { metadata: { name: "onestarted" }, spec: ONE_STARTED } as never,
        asOperator,
      );
      await untilReady(env.admin, PolicyTemplate, { name: "onestarted" });
      await applyApp(env.admin, { namespace, name: "first" });
      await env.startWebhooks();
      await constrain("deny");
    }, 180_000);
    afterAll(async () => {
      await env?.stop();
      await endpoint?.stop();
    }, 60_000);

    /** Applies the constraint, and waits until it is in force as it stands. */
    async function constrain(action: string): Promise<void> {
      const draft = { metadata: { name: "one" }, spec: { enforcement: { action } } } as never;
      await eventually(() => env.admin.apply(constraints, draft, asOperator));
      await eventually(async () => {
        const { metadata, status } = await env.admin.get(constraints, { name: "one" });
        const enforced = (status?.conditions as Condition[] | undefined)?.find(({ type }) => type === "Enforced");
        expect([enforced?.status, enforced?.observedGeneration]).toEqual(["True", metadata.generation]);
      });
    }

    /** How kubectl is answered when it creates a started app, by dry run. */
    async function create(state = "Started"): Promise<{ refusal?: string; warnings: string[] }> {
      const warnings: string[] = [];
      const draft = anApp({ state }, { metadata: { name: "another", namespace } });
      const { uid: _uid, creationTimestamp: _at, ...metadata } = draft.metadata;
      const onWarning = (text: string): void => void warnings.push(text);
      return env.admin.create(App, { ...draft, metadata }, { dryRun: true, onWarning }).then(
        () => ({ warnings }),
        (error: unknown) => ({ refusal: `${(error as KubeError).code} ${(error as KubeError).message}`, warnings }),
      );
    }

    test("kubectl is refused with the policy's sentence, and nothing else is", async () => {
      await eventually(async () => expect(await create()).toEqual(REFUSED));
      expect(await create()).toEqual({
        refusal: expect.stringMatching(/^422 .*"policies\.cupola\.dev"/),
        warnings: [],
      });
      expect(await create("Stopped")).toEqual({ warnings: [] });
    });

    test("Enforced says that both replicas of the webhook have it", async () => {
      const { metadata } = await env.admin.get(constraints, { name: "one" });
      const { items } = await env.admin.list(Replica, { namespace: SYSTEM_NAMESPACE });
      const webhooks = items.filter(({ spec }) => spec.operations.includes("webhook"));
      expect(webhooks.map(({ status }) => status?.policies?.applied)).toEqual(
        Array(2).fill([`${metadata.uid}/${metadata.generation}/1`]),
      );
    });

    test("a constraint that warns is a warning of kubectl, and one that counts is silent", async () => {
      await constrain("warn");
      await eventually(async () => expect(await create()).toEqual({ warnings: [SENTENCE] }));
      await constrain("dryrun");
      await eventually(async () => expect(await create()).toEqual({ warnings: [] }));
      await constrain("deny");
      await eventually(async () => expect(await create()).toEqual(REFUSED));
    });

    test("a template with a mistake is refused with its place, and one without a mistake is not", async () => {
      const write = (name: string, expression: string): Promise<unknown> => {
        const spec = { ...ONE_STARTED, kind: `${name[0]?.toUpperCase()}${name.slice(1)}`, rules: [{ expression }] };
        return env.admin.create(PolicyTemplate, { metadata: { name }, spec } as never, { dryRun: true });
      };
      await write("sound", "refs.apps.size() < 5");
      await expect(write("broken", "refs.apps.")).rejects.toThrow(/spec\.rules\[0\]\.expression: it does not compile/);
    });

    test("the CF API refuses with the same sentence", async () => {
      await applyApp(env.admin, { namespace, name: "second" }, { app: { state: "Stopped" } });
      const app = await eventually(async () => {
        const { resources } = await env.api.call<{ resources: { guid: string }[] }>("GET", "/v3/apps?names=second");
        expect(resources).toHaveLength(1);
        return resources[0];
      });
      await expect(env.api.call("POST", `/v3/apps/${app?.guid}/actions/start`)).rejects.toThrow(SENTENCE);
    });

    test("a webhook that takes connections and never answers delays a write and locks nobody out", async () => {
      await env.stopWebhooks();
      const hole = await openBlackHole(env.ports);
      try {
        const began = performance.now();
        await env.admin.patch(
          App,
          { namespace, name: "second" },
          { type: "merge", body: { spec: { state: "Started" } } },
        );
        const passed = performance.now();
        expect(hole.connections()).toBeGreaterThan(0);
        expect(passed - began).toBeLessThan(BOUNDED_MS);
        // It is stored and does not start.
        const key = { namespace, name: "second" };
        const held = await untilReady(env.admin, App, key, { status: "False", reason: "PolicyDenied" });
        expect(readyOf(held)?.message).toBe(SENTENCE);

        const connections = hole.connections();
        const others = performance.now();
        await env.admin.create(Lease, { metadata: { namespace: "kube-system", name: "probe" } });
        await env.admin.delete(constraints, { name: "one" });
        expect(performance.now() - others).toBeLessThan(AT_ONCE_MS);
        expect(hole.connections()).toBe(connections);
        await eventually(() => currentLRP(env.admin, key));
      } finally {
        await hole.close();
      }
    }, 90_000);

    test("with every process down writes pass at once, and the constraint goes", async () => {
      await constrain("deny");
      await env.end();
      const began = performance.now();
      expect(await create()).toEqual({ warnings: [] });
      await env.admin.delete(constraints, { name: "one" });
      expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
      expect((await findConfiguration(env.admin))?.webhooks).toHaveLength(2);
    });
  });
}

interface BlackHole {
  /** How many it has taken so far. */
  connections(): number;
  close(): Promise<void>;
}

/** Takes connections at these ports of loopback, and reads and writes nothing. */
async function openBlackHole(ports: readonly number[]): Promise<BlackHole> {
  const sockets: Socket[] = [];
  const servers = await Promise.all(
    ports.map(async (port): Promise<Server> => {
      const server = createServer({ pauseOnConnect: true }, (socket) => {
        socket.on("error", () => undefined);
        sockets.push(socket);
      });
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  return {
    connections: () => sockets.length,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
