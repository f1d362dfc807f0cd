// Rows: admission webhooks: what a server makes of an answer, in which order, and of none.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { configMap, configMaps, row, widget, widgets } from "../row.ts";
import { admission, allow, faults, plural, rule, trial, withHook } from "../webhook-configuration.ts";
import { patchWith, startWebhookServer, type Respond } from "../webhook-server.ts";

export const webhookAnswerRows = [
  row("a refusal has the webhook's message, code, reason and details", async (scene) => {
    await withHook(
      scene,
      () => ({
        allowed: false,
        status: { message: "not today", reason: "TooEarly", code: 418, details: { name: "a" } },
      }),
      {},
      async () => {
        const { status, body } = await trial(scene.api, scene.ns);
        expect([status, body]).toEqual([
          418,
          {
            kind: "Status",
            apiVersion: "v1",
            metadata: {},
            status: "Failure",
            message: 'admission webhook "judge.conformance.example" denied the request: not today',
            reason: "TooEarly",
            details: { name: "a" },
            code: 418,
          },
        ]);
      },
    );
  }),
  row("a refusal without a message, or with a code of success, is 400", async (scene) => {
    let status: Json;
    await withHook(
      scene,
      () => ({ allowed: false, ...(status && { status }) }),
      {},
      async () => {
        const silent = await trial(scene.api, scene.ns);
        expect([silent.status, silent.body.message]).toEqual([
          400,
          'admission webhook "judge.conformance.example" denied the request without explanation',
        ]);
        status = { code: 200, status: "Success", reason: "Nope" };
        const odd = await trial(scene.api, scene.ns);
        expect([odd.status, odd.body.status, odd.body.message]).toEqual([
          400,
          "Failure",
          'admission webhook "judge.conformance.example" denied the request: Nope',
        ]);
      },
    );
  }),
  row("warnings of webhooks reach the client", async (scene) => {
    await withHook(
      scene,
      () => ({ allowed: true, warnings: ["rather large", "and heavy"] }),
      {},
      async () => {
        const { status, headers } = await trial(scene.api, scene.ns);
        const warningText = [headers["warning"]].flat().join(", ");
        expect([status, warningText]).toEqual([201, '299 - "rather large", 299 - "and heavy"']);
      },
    );
  }),
  row("a JSON patch changes the stored object, which is defaulted; nobody owns its fields", async (scene) => {
    const { api, ns } = scene;
    const respond: Respond = () =>
      patchWith(
        { op: "add", path: "/spec/ports", value: [{ name: "http" }] },
        { op: "add", path: "/metadata/labels", value: { by: "hook" } },
        { op: "remove", path: "/spec/size" },
      );
    await withHook(scene, respond, { kind: "Mutating" }, async () => {
      const { status, body } = await api.post(`${widgets(ns)}?fieldManager=tester`, widget("a", { size: 7 }));
      expect([status, body.spec, body.metadata.labels]).toEqual([
        201,
        { size: 1, replicas: 1, nested: { mode: "auto" }, ports: [{ name: "http", port: 80, protocol: "TCP" }] },
        { by: "hook" },
      ]);
      expect((await api.get(`${widgets(ns)}/a`)).body.spec).toEqual(body.spec);
      expect(body.metadata.managedFields.map((entry: Json) => entry.manager)).toEqual(["tester"]);
      expect(Object.keys(body.metadata.managedFields[0].fieldsV1["f:spec"])).not.toContain("f:ports");
    });
  }),
  row("a JSON patch of a built-in kind", async (scene) => {
    const { api, ns } = scene;
    const hook = { rules: [rule({ apiGroups: [""], resources: ["configmaps"] })] };
    const inForce = async () =>
      expect((await api.post(`${configMaps(ns)}?dryRun=All`, configMap("b", { a: "1" }))).body.data.hooked).toBe("yes");
    await withHook(
      scene,
      () => patchWith({ op: "add", path: "/data/hooked", value: "yes" }, { op: "add", path: "/unknown", value: 1 }),
      { kind: "Mutating", hook, inForce },
      async () => {
        const { body } = await api.post(configMaps(ns), configMap("a", { a: "1" }));
        expect([body.data, body.unknown]).toEqual([{ a: "1", hooked: "yes" }, undefined]);
        expect((await api.patch("strategic", `${configMaps(ns)}/a`, { data: { hooked: "no" } })).body.data.hooked).toBe(
          "yes",
        );
      },
    );
  }),
  row("an object is validated after mutating webhooks: they can break or repair it", async (scene) => {
    const { api, ns } = scene;
    await withHook(
      scene,
      ({ object }) => patchWith({ op: "add", path: "/spec/size", value: object.metadata.name === "worse" ? -1 : 1 }),
      { kind: "Mutating" },
      async () => {
        const worse = await api.post(widgets(ns), widget("worse", { size: 3 }));
        expect([worse.status, worse.body.details.causes[0].field]).toEqual([422, "spec.size"]);
        expect((await api.post(widgets(ns), widget("better", { size: -1 }))).status).toBe(201);
      },
    );
  }),
  row("order: mutating by the names of their configurations, then validating", async (scene) => {
    const { unique } = scene;
    const seen: string[] = [];
    const respond =
      (mark: string): Respond =>
      ({ object }) => {
        seen.push(`${mark} sees ${object.metadata.labels?.seen ?? "nothing"}`);
        return patchWith({ op: "add", path: "/metadata/labels", value: { seen: mark } });
      };
    const judge: Respond = ({ object }) => {
      seen.push(`judge sees ${object.metadata.labels?.seen}`);
      return { allowed: true };
    };
    const base = unique("order");
    await withHook(
      scene,
      judge,
      {},
      async () =>
        await withHook(
          scene,
          respond("second"),
          { kind: "Mutating", name: `${base}-b` },
          async () =>
            await withHook(
              scene,
              respond("first"),
              {
                kind: "Mutating",
                name: `${base}-a`,
                inForce: async () => {
                  seen.length = 0;
                  await trial(scene.api, scene.ns);
                  expect(seen).toHaveLength(3);
                },
              },
              async () => {
                seen.length = 0;
                await trial(scene.api, scene.ns);
                expect(seen).toEqual(["first sees nothing", "second sees first", "judge sees second"]);
              },
            ),
        ),
    );
  }),
  row("reinvocationPolicy IfNeeded: called again when a later webhook changes the object", async (scene) => {
    const { unique } = scene;
    const base = unique("again");
    const seen: Json[] = [];
    const early: Respond = ({ object }) => {
      seen.push(object.metadata.labels?.late ?? "early");
      return { allowed: true };
    };
    const late: Respond = () => patchWith({ op: "add", path: "/metadata/labels", value: { late: "changed" } });
    for (const [reinvocationPolicy, expected] of [
      ["IfNeeded", ["early", "changed"]],
      ["Never", ["early"]],
    ] as const) {
      await withHook(
        scene,
        early,
        { kind: "Mutating", name: `${base}-a-${reinvocationPolicy.toLowerCase()}`, hook: { reinvocationPolicy } },
        async () =>
          await withHook(
            scene,
            late,
            { kind: "Mutating", name: `${base}-b-${reinvocationPolicy.toLowerCase()}` },
            async () => {
              seen.length = 0;
              await trial(scene.api, scene.ns);
              expect(seen).toEqual(expected);
            },
          ),
      );
    }
  }),
  row("policies and validating webhooks see the mutated object", async (scene) => {
    const { api, ns, unique } = scene;
    const name = unique("policy");
    const enforced = {
      validationActions: ["Deny"],
      policyName: name,
      matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } } },
    };
    await api.post(`${admission}/validatingadmissionpolicies`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [rule()] },
        validations: [{ expression: "object.spec.size < 50", message: "too large" }],
      },
    });
    await api.post(`${admission}/validatingadmissionpolicybindings`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: enforced,
    });
    await scene.eventually(async () => expect((await trial(api, ns, { size: 51 })).status).toBe(422));
    await withHook(
      scene,
      () => patchWith({ op: "add", path: "/spec/size", value: 99 }),
      { kind: "Mutating" },
      async () => {
        expect((await trial(api, ns, { size: 1 })).body.message).toContain("too large");
      },
    );
  }),
  row("failurePolicy: without an answer Fail refuses and Ignore admits", async (scene) => {
    const { api, ns } = scene;
    const nobody = { url: "https://127.0.0.1:1/review" };
    for (const kind of ["Validating", "Mutating"] as const) {
      await withHook(
        scene,
        allow,
        { kind, clientConfig: nobody, inForce: (as) => faults(as, ns) },
        async ({ name }) => {
          const { status, body } = await trial(api, ns);
          const message =
            'failed calling webhook "judge.conformance.example": failed to call webhook: Post "https://127.0.0.1:1/review?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused';
          expect([status, body]).toEqual([
            500,
            {
              kind: "Status",
              apiVersion: "v1",
              metadata: {},
              status: "Failure",
              message: `Internal error occurred: ${message}`,
              reason: "InternalError",
              details: { causes: [{ message }] },
              code: 500,
            },
          ]);
          await api.patch("json", `${plural(kind)}/${name}`, [
            { op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" },
          ]);
          await scene.eventually(async () => expect((await trial(api, ns)).status).toBe(201));
        },
      );
    }
  }),
  row("timeoutSeconds: a late answer counts as none", async (scene) => {
    const { api, ns } = scene;
    await withHook(
      scene,
      () => undefined,
      { hook: { timeoutSeconds: 1 }, inForce: (as) => faults(as, ns) },
      async () => {
        const from = Date.now();
        const { status, body } = await trial(api, ns);
        expect([status, body.message]).toEqual([
          500,
          expect.stringMatching(/failed to call webhook: Post "https:.*\?timeout=1s": context deadline exceeded$/),
        ]);
        expect(Date.now() - from).toBeLessThan(4_000);
      },
    );
  }),
  row("invalid answers: an error status, no JSON, another uid, a patch of a validating webhook", async (scene) => {
    const { api, ns } = scene;
    let answer: Json = 500;
    await withHook(
      scene,
      () => answer,
      { inForce: (as) => faults(as, ns) },
      async () => {
        const tell = async (next: Json) => {
          answer = next;
          const { status, body } = await trial(api, ns);
          return [
            status,
            body.message.replace('Internal error occurred: failed calling webhook "judge.conformance.example": ', ""),
          ];
        };
        expect(await tell(500)).toEqual([
          500,
          'failed to call webhook: an error on the server ("broken") has prevented the request from succeeding',
        ]);
        expect(await tell(404)).toEqual([
          500,
          "failed to call webhook: the server could not find the requested resource",
        ]);
        expect(await tell("{")).toEqual([500, expect.stringContaining("failed to call webhook: ")]);
        expect(await tell({ uid: "other", allowed: true })).toEqual([
          500,
          expect.stringMatching(/^received invalid webhook response: expected response.uid="[-0-9a-f]+", got "other"$/),
        ]);
        expect(await tell(patchWith({ op: "add", path: "/spec/size", value: 1 }))).toEqual([
          500,
          "received invalid webhook response: validating webhook may not return response.patch",
        ]);
        expect(await tell(JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" }))).toEqual([
          500,
          "received invalid webhook response: webhook response was absent",
        ]);
        answer = { allowed: true };
        expect((await trial(api, ns)).status).toBe(201);
      },
    );
  }),
  row("a patch that cannot be applied is the webhook's failure", async (scene) => {
    const { api, ns } = scene;
    let answer: Json = { allowed: true };
    await withHook(
      scene,
      () => answer,
      { kind: "Mutating", hook: { rules: [rule({ operations: ["*"] })] } },
      async () => {
        answer = patchWith({ op: "remove", path: "/spec/none" });
        expect((await trial(api, ns)).status).toBe(500);
        answer = { allowed: true, patch: Buffer.from("[]").toString("base64") };
        expect((await trial(api, ns)).body.message).toContain(
          "webhook returned response.patch but not response.patchType",
        );
        answer = { allowed: true };
        await api.post(widgets(ns), widget("a"));
        answer = patchWith({ op: "add", path: "/spec/size", value: 1 });
        const { status, body } = await api.delete(`${widgets(ns)}/a`);
        expect([status, body.message]).toEqual([
          500,
          'Internal error occurred: admission webhook "judge.conformance.example" attempted to modify the object, which is not supported for this operation',
        ]);
      },
    );
  }),
  row("a certificate of an unknown authority is refused", async (scene) => {
    const { api, ns } = scene;
    const server = await startWebhookServer(allow);
    try {
      await withHook(
        scene,
        allow,
        { clientConfig: { url: server.clientConfig.url }, inForce: (as) => faults(as, ns) },
        async () => {
          expect((await trial(api, ns)).body.message).toContain(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority",
          );
        },
      );
    } finally {
      await server.stop();
    }
  }),
  row("a call to a webhook behind a missing Service fails", async (scene) => {
    const { api, ns } = scene;
    const clientConfig = { service: { name: "nobody", namespace: ns, path: "/review" } };
    await withHook(scene, allow, { clientConfig, inForce: (as) => faults(as, ns) }, async () => {
      expect((await trial(api, ns)).body.message).toBe(
        `Internal error occurred: failed calling webhook "judge.conformance.example": failed to call webhook: Post "https://nobody.${ns}.svc:443/review?timeout=5s": service "nobody" not found`,
      );
    });
  }),
  row("a mutating webhook can refuse, and its review says when it is a dry run", async (scene) => {
    const { api, ns } = scene;
    await withHook(
      scene,
      () => ({ allowed: false, status: { message: "no", code: 403 } }),
      { kind: "Mutating", hook: { sideEffects: "NoneOnDryRun" } },
      async ({ server }) => {
        const { status, body } = await trial(api, ns);
        expect([status, body.message]).toEqual([
          403,
          'admission webhook "judge.conformance.example" denied the request: no',
        ]);
        expect([server.requests[0].dryRun, server.requests[0].options.dryRun]).toEqual([true, ["All"]]);
      },
    );
  }),
];
