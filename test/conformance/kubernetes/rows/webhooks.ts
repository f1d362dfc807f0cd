// Rows: admission webhooks: whom a server asks, what it asks, in which order, and what it makes of the answer or of none.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { configMap, configMaps, crd, group, row, widget, widgets, type Scene } from "../row.ts";
import { patchWith, startWebhookServer, type Respond, type WebhookServer } from "../webhook-server.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
type Kind = "Validating" | "Mutating";
const plural = (kind: Kind) => `${admission}/${kind.toLowerCase()}webhookconfigurations`;
const configuration = (kind: Kind, name: string, webhooks: Json[]) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: `${kind}WebhookConfiguration`,
  metadata: { name },
  webhooks,
});
const rule = (more: Json = {}) => ({
  apiGroups: [group],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["widgets"],
  ...more,
});
const webhook = (ns: string, clientConfig: Json, more: Json = {}) => ({
  name: "judge.conformance.example",
  clientConfig,
  rules: [rule()],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  timeoutSeconds: 5,
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } },
  ...more,
});

interface Installed {
  name: string;
  server: WebhookServer;
}

interface Wanted {
  kind?: Kind;
  /** Fields of the webhook. */
  hook?: Json;
  /** Instead of the server's own. */
  clientConfig?: Json;
  /** Holds once the configuration is in force. */
  inForce?: (api: Api) => Promise<void>;
  name?: string;
}

const trial = async (api: Api, ns: string, spec: Json = {}, metadata: Json = {}) =>
  await api.post(`${widgets(ns)}?dryRun=All`, widget("trial", spec, metadata));

/** Runs `body` while a webhook of this row's namespace is in force. */
async function withHook(
  scene: Scene,
  respond: Respond,
  wanted: Wanted,
  body: (installed: Installed) => Promise<void>,
): Promise<void> {
  const { api, ns, unique, eventually } = scene;
  const { kind = "Validating", hook, clientConfig, inForce, name = unique("hook") } = wanted;
  const server = await startWebhookServer(respond);
  try {
    const made = await api.post(
      plural(kind),
      configuration(kind, name, [webhook(ns, clientConfig ?? server.clientConfig, hook)]),
    );
    expect(made.status, made.text).toBe(201);
    await eventually(async () => {
      if (inForce) return await inForce(api);
      await trial(api, ns);
      expect(server.requests.length).toBeGreaterThan(0);
    });
    server.requests.length = 0;
    await body({ name, server });
  } finally {
    await api.delete(`${plural(kind)}/${name}`);
    await server.stop();
  }
}

const allow: Respond = () => ({ allowed: true });
const faults = async (api: Api, ns: string) => expect((await trial(api, ns)).status).toBe(500);

/** What a review asks, without what differs from run to run. */
function withoutGenerated(request: Json): Json {
  const clean = (object: Json) => {
    if (!object) return object;
    const {
      uid,
      creationTimestamp,
      resourceVersion,
      managedFields: _fields,
      namespace: _namespace,
      ...metadata
    } = object.metadata;
    return {
      ...object,
      metadata: {
        ...metadata,
        ...(uid && { uid: "set" }),
        ...(resourceVersion && { resourceVersion: "set" }),
        created: Boolean(creationTimestamp),
      },
    };
  };
  const { uid: _uid, namespace: _namespace, userInfo: _user, ...rest } = request;
  return { ...rest, object: clean(request.object), oldObject: clean(request.oldObject) };
}

const gvk = { group, version: "v1", kind: "Widget" };
const gvr = { group, version: "v1", resource: "widgets" };
const about = { kind: gvk, resource: gvr, requestKind: gvk, requestResource: gvr, dryRun: false };

export const webhookRows = [
  row("a refusal is told in the webhook's words, with its code, reason and details", async (scene) => {
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
  row("a refusal without words is 400, and so is one with the code of a success", async (scene) => {
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
  row(
    "a create is asked about whole, with defaults, before it has a uid for mutating and after for validating webhooks",
    async (scene) => {
      const object = {
        apiVersion: `${group}/v1`,
        kind: "Widget",
        spec: { size: 2, replicas: 1, nested: { mode: "auto" } },
      };
      for (const kind of ["Mutating", "Validating"] as const) {
        await withHook(scene, allow, { kind }, async ({ server }) => {
          const name = kind.toLowerCase();
          await scene.api.post(`${widgets(scene.ns)}?fieldManager=tester`, widget(name, { size: 2 }));
          const system = kind === "Validating" ? { uid: "set", generation: 1, created: true } : { created: false };
          const [request] = server.requests;
          const wanted = { ...object, metadata: { name, ...system } };
          // Only the mutating ones see an object before its bookkeeping is complete.
          expect(
            withoutGenerated({
              ...request,
              object: {
                ...request.object,
                metadata: {
                  ...request.object.metadata,
                  generation: kind === "Validating" ? request.object.metadata.generation : undefined,
                },
              },
            }),
          ).toEqual({
            ...about,
            name,
            operation: "CREATE",
            object: {
              ...wanted,
              metadata: { ...wanted.metadata, ...(kind === "Mutating" && { generation: undefined }) },
            },
            oldObject: null,
            options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "tester" },
          });
          expect([request.namespace, typeof request.uid]).toEqual([scene.ns, "string"]);
        });
      }
    },
  ),
  row("every patch is asked about as an update, with the old object", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a", { size: 2 }));
    await withHook(scene, allow, { hook: { rules: [rule({ operations: ["*"] })] } }, async ({ server }) => {
      // The last one counts: a server may begin with what it has cached and ask again.
      await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 3 } });
      const merged = server.requests.at(-1);
      await api.patch("apply", `${widgets(ns)}/a?fieldManager=tester&force=true`, widget("a", { size: 4 }));
      const applied = server.requests.at(-1);
      expect([
        merged.operation,
        merged.object.spec.size,
        merged.oldObject.spec.size,
        merged.object.metadata.generation,
      ]).toEqual(["UPDATE", 3, 2, 2]);
      expect([applied.operation, applied.object.spec.size, applied.oldObject.spec.size]).toEqual(["UPDATE", 4, 3]);
      expect([merged.options, applied.options.kind]).toEqual([
        { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1" },
        "UpdateOptions",
      ]);
      server.requests.length = 0;
      await api.patch("apply", `${widgets(ns)}/new?fieldManager=tester`, widget("new", { size: 4 }));
      expect([server.requests[0].operation, server.requests[0].options]).toEqual([
        "CREATE",
        { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "tester" },
      ]);
    });
  }),
  row(
    "a delete is asked about with the old object only, a deletecollection once for each without its name",
    async (scene) => {
      const { api, ns } = scene;
      for (const name of ["a", "b", "c"]) await api.post(widgets(ns), widget(name));
      const respond: Respond = ({ operation, oldObject }) => ({
        allowed: operation !== "DELETE" || oldObject.metadata.name !== "c",
      });
      await withHook(scene, respond, { hook: { rules: [rule({ operations: ["*"] })] } }, async ({ server }) => {
        expect(
          (
            await api.delete(`${widgets(ns)}/a`, {
              apiVersion: "v1",
              kind: "DeleteOptions",
              propagationPolicy: "Background",
            })
          ).status,
        ).toBe(200);
        const [request] = server.requests;
        expect([request.operation, request.object, request.oldObject.metadata.name, request.options]).toEqual([
          "DELETE",
          null,
          "a",
          { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", propagationPolicy: "Background" },
        ]);
        expect((await api.delete(`${widgets(ns)}/c`)).status).toBe(400);
        server.requests.length = 0;
        await api.delete(`${widgets(ns)}?labelSelector=!none`);
        // A deletecollection names no object; only the old object tells which one it is about.
        expect(
          server.requests.map((one: Json) => [one.operation, one.name, one.oldObject.metadata.name]).sort(),
        ).toEqual([
          ["DELETE", undefined, "b"],
          ["DELETE", undefined, "c"],
        ]);
        expect((await api.get(widgets(ns))).body.items.map((item: Json) => item.metadata.name)).toEqual(["c"]);
      });
    },
  ),
  row("a status is asked about only by those who ask for the subresource", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a"));
    const inForce = async () =>
      expect((await api.patch("merge", `${widgets(ns)}/a/status?dryRun=All`, { status: { replicas: 1 } })).status).toBe(
        400,
      );
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook: { rules: [rule({ resources: ["widgets/status"] })] }, inForce },
      async ({ server }) => {
        expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 3 } })).status).toBe(200);
        expect(server.requests).toEqual([]);
        await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: 1 } });
        expect(server.requests[0]).toMatchObject({
          subResource: "status",
          requestSubResource: "status",
          object: { status: { replicas: 1 } },
        });
      },
    );
  }),
  row("a change of scale is asked about as a Scale", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a"));
    const inForce = async () =>
      expect((await api.patch("merge", `${widgets(ns)}/a/scale?dryRun=All`, { spec: { replicas: 9 } })).status).toBe(
        400,
      );
    const respond: Respond = ({ object }) => ({ allowed: object.spec.replicas < 9 });
    await withHook(
      scene,
      respond,
      { hook: { rules: [rule({ resources: ["widgets/scale"] })] }, inForce },
      async ({ server }) => {
        expect((await api.patch("merge", `${widgets(ns)}/a/scale`, { spec: { replicas: 3 } })).status).toBe(200);
        expect(server.requests[0]).toMatchObject({
          subResource: "scale",
          kind: { group: "autoscaling", version: "v1", kind: "Scale" },
          resource: gvr,
          object: { kind: "Scale", spec: { replicas: 3 } },
          oldObject: { kind: "Scale", spec: { replicas: 1 } },
        });
      },
    );
  }),
  row("a namespace is asked about, and chosen by its own labels", async (scene) => {
    const { api, unique } = scene;
    const mark = unique("mark");
    const namespace = (name: string, labels: Json) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
    const inForce = async () =>
      expect((await api.post("/api/v1/namespaces?dryRun=All", namespace(mark, { mark }))).status).toBe(400);
    const hook = {
      namespaceSelector: { matchLabels: { mark } },
      rules: [rule({ apiGroups: [""], resources: ["namespaces"], operations: ["CREATE"] })],
    };
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook, inForce },
      async ({ server }) => {
        expect((await api.post("/api/v1/namespaces?dryRun=All", namespace(unique("other"), {}))).status).toBe(201);
        expect(server.requests).toEqual([]);
        await inForce();
        expect(withoutGenerated(server.requests[0])).toMatchObject({
          name: mark,
          kind: { group: "", version: "v1", kind: "Namespace" },
          object: { kind: "Namespace" },
          dryRun: true,
        });
      },
    );
  }),
  row("the caller is named: user, groups, uid and extra", async (scene) => {
    const { api, ns } = scene;
    await withHook(scene, allow, {}, async ({ server }) => {
      await trial(
        api.as({ impersonate: "eve", groups: ["system:masters"], uid: "u-1", extra: { scopes: "view" } }),
        ns,
      );
      expect(server.requests[0].userInfo).toEqual({
        username: "eve",
        uid: "u-1",
        groups: ["system:masters", "system:authenticated"],
        extra: { scopes: ["view"] },
      });
    });
  }),
  row("a generated name is not known to mutating webhooks", async (scene) => {
    const { api, ns } = scene;
    await withHook(scene, allow, { kind: "Mutating" }, async ({ server }) => {
      const { body } = await api.post(widgets(ns), {
        apiVersion: `${group}/v1`,
        kind: "Widget",
        metadata: { generateName: "gen-" },
        spec: {},
      });
      expect(body.metadata.name).toMatch(/^gen-/);
      expect([server.requests[0].name, server.requests[0].object.metadata.name]).toEqual([undefined, undefined]);
    });
  }),
  row("a JSON patch changes what is stored, is defaulted, and nobody owns what it set", async (scene) => {
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
  row("what a mutating webhook makes invalid is refused, what it repairs is taken", async (scene) => {
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
  row("reinvocationPolicy IfNeeded: asked again when a later one changes the object", async (scene) => {
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
  row("policies and validating webhooks see what mutating webhooks made", async (scene) => {
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
  row("failurePolicy: nobody there refuses by Fail, lets through by Ignore", async (scene) => {
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
  row("timeoutSeconds: who does not answer in time has not answered", async (scene) => {
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
  row("answers that are none: a status code, no JSON, another uid, a patch of a validating webhook", async (scene) => {
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
  row("patches that do not fit are a fault of the webhook", async (scene) => {
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
  row("a certificate of another authority is not believed", async (scene) => {
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
  row("a webhook behind a Service that is not there cannot be called", async (scene) => {
    const { api, ns } = scene;
    const clientConfig = { service: { name: "nobody", namespace: ns, path: "/review" } };
    await withHook(scene, allow, { clientConfig, inForce: (as) => faults(as, ns) }, async () => {
      expect((await trial(api, ns)).body.message).toBe(
        `Internal error occurred: failed calling webhook "judge.conformance.example": failed to call webhook: Post "https://nobody.${ns}.svc:443/review?timeout=5s": service "nobody" not found`,
      );
    });
  }),
  row("matchConditions choose; one that fails refuses by Fail and skips by Ignore", async (scene) => {
    const { api, ns } = scene;
    const matchConditions = [
      { name: "large", expression: "object.spec.size > 5" },
      { name: "not-eve", expression: "request.userInfo.username != 'eve'" },
    ];
    const inForce = async () => expect((await trial(api, ns, { size: 6 })).status).toBe(400);
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook: { matchConditions }, inForce },
      async () => {
        expect((await trial(api, ns, { size: 5 })).status).toBe(201);
        expect((await trial(api.as({ impersonate: "eve", groups: ["system:masters"] }), ns, { size: 6 })).status).toBe(
          201,
        );
      },
    );
    const broken = { matchConditions: [{ name: "coloured", expression: "object.spec.color == 'red'" }] };
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook: broken, inForce: async () => expect((await trial(api, ns)).status).toBe(403) },
      async ({ name, server }) => {
        const { body } = await trial(api, ns);
        expect(body).toMatchObject({
          reason: "Forbidden",
          message: `widgets.conformance.example "trial" is forbidden: expression 'object.spec.color == 'red'' resulted in error: no such key: color`,
        });
        await api.patch("json", `${plural("Validating")}/${name}`, [
          { op: "replace", path: "/webhooks/0/failurePolicy", value: "Ignore" },
        ]);
        await scene.eventually(async () => expect((await trial(api, ns)).status).toBe(201));
        expect(server.requests).toEqual([]);
        expect((await trial(api, ns, { color: "red" })).status).toBe(400);
      },
    );
  }),
  row("objectSelector: the new or the old object has the labels", async (scene) => {
    const { api, ns } = scene;
    const labels = { judged: "yes" };
    await api.post(widgets(ns), widget("old", {}, { labels }));
    const hook = { objectSelector: { matchLabels: labels } };
    await withHook(
      scene,
      () => ({ allowed: false }),
      { hook, inForce: async () => expect((await trial(api, ns, {}, { labels })).status).toBe(400) },
      async () => {
        expect((await trial(api, ns)).status).toBe(201);
        expect(
          (await api.patch("merge", `${widgets(ns)}/old`, { metadata: { labels: { judged: null } } })).status,
        ).toBe(400);
      },
    );
  }),
  row("matchPolicy: Equivalent gets the version it names, Exact hears of no other", async (scene) => {
    const { api, ns, unique, eventually } = scene;
    const plurals = unique("doubles").replace("-", "");
    const made = crd(plurals, plurals[0]!.toUpperCase() + plurals.slice(1), {
      type: "object",
      properties: { a: { type: "string" } },
    });
    made.spec.versions.push({ ...made.spec.versions[0], name: "v2", storage: false });
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made);
    try {
      const path = `/apis/${group}/v2/namespaces/${ns}/${plurals}`;
      const send = () =>
        api.post(`${path}?dryRun=All`, {
          apiVersion: `${group}/v2`,
          kind: made.spec.names.kind,
          metadata: { name: "one" },
          spec: { a: "x" },
        });
      await eventually(async () => expect((await send()).status).toBe(201));
      const rules = [rule({ resources: [plurals] })];
      await withHook(
        scene,
        () => ({ allowed: false }),
        { hook: { rules }, inForce: async () => expect((await send()).status).toBe(400) },
        async ({ name, server }) => {
          await send();
          expect(server.requests[0]).toMatchObject({
            kind: { version: "v1" },
            resource: { version: "v1" },
            requestKind: { version: "v2" },
            requestResource: { version: "v2" },
            object: { apiVersion: `${group}/v1` },
          });
          await api.patch("json", `${plural("Validating")}/${name}`, [
            { op: "replace", path: "/webhooks/0/matchPolicy", value: "Exact" },
          ]);
          await eventually(async () => expect((await send()).status).toBe(201));
        },
      );
    } finally {
      // A second version of the group would show in the rows on discovery.
      await api.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plurals}.${group}`);
    }
  }),
  row("a mutating webhook refuses as a validating one does, and a dry run says so", async (scene) => {
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
  row("a configuration gets defaults and counts its generations", async ({ api, unique }) => {
    const name = unique("defaults");
    const bare = {
      name: "a.b.c",
      clientConfig: { service: { name: "s", namespace: "n" } },
      rules: [{ apiGroups: ["none.example"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["x"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    };
    for (const kind of ["Validating", "Mutating"] as const) {
      const { body } = await api.post(plural(kind), configuration(kind, name, [bare]));
      expect([body.metadata.generation, body.webhooks]).toEqual([
        1,
        [
          {
            ...bare,
            clientConfig: { service: { name: "s", namespace: "n", port: 443 } },
            rules: [{ ...bare.rules[0], scope: "*" }],
            failurePolicy: "Fail",
            matchPolicy: "Equivalent",
            namespaceSelector: {},
            objectSelector: {},
            timeoutSeconds: 10,
            ...(kind === "Mutating" && { reinvocationPolicy: "Never" }),
          },
        ],
      ]);
      expect(
        (
          await api.patch("json", `${plural(kind)}/${name}`, [
            { op: "replace", path: "/webhooks/0/timeoutSeconds", value: 9 },
          ])
        ).body.metadata.generation,
      ).toBe(2);
      await api.delete(`${plural(kind)}/${name}`);
    }
  }),
  row("a configuration that makes no sense is refused, field by field", async ({ api, unique }) => {
    const wrong = {
      name: "short",
      clientConfig: { url: "http://127.0.0.1/x?y=z" },
      rules: [{ apiGroups: ["*", "x"], apiVersions: [], operations: ["READ"], resources: [""], scope: "Some" }],
      sideEffects: "Some",
      admissionReviewVersions: ["v7"],
      timeoutSeconds: 31,
      failurePolicy: "Maybe",
      matchPolicy: "Loose",
      matchConditions: [
        { name: "a", expression: "object.x ==" },
        { name: "", expression: "'text'" },
      ],
    };
    const { status, body } = await api.post(
      plural("Validating"),
      configuration("Validating", unique("wrong"), [wrong]),
    );
    expect(status).toBe(422);
    const fields = body.details.causes.map((cause: Json) => cause.field.replace("webhooks[0].", ""));
    expect([...new Set(fields)].sort()).toEqual([
      "admissionReviewVersions",
      "clientConfig.url",
      "failurePolicy",
      "matchConditions[0].expression",
      "matchConditions[1].expression",
      "matchConditions[1].name",
      "matchPolicy",
      "name",
      "rules[0].apiGroups",
      "rules[0].apiVersions",
      "rules[0].operations[0]",
      "rules[0].resources[0]",
      "rules[0].scope",
      "sideEffects",
      "timeoutSeconds",
    ]);
    const neither = await api.post(
      plural("Mutating"),
      configuration("Mutating", unique("wrong"), [
        { name: "a.b.c", clientConfig: {}, sideEffects: "None", admissionReviewVersions: ["v1"] },
      ]),
    );
    expect([neither.status, neither.body.details.causes]).toEqual([
      422,
      [
        {
          reason: "FieldValueRequired",
          field: "webhooks[0].clientConfig",
          message: "Required value: exactly one of url or service is required",
        },
      ],
    ]);
  }),
  row("no webhook is asked about webhook configurations", async (scene) => {
    const { api, ns } = scene;
    const rules = [rule(), rule({ apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], operations: ["*"] })];
    // Without a namespace selector it would catch what is not in a namespace, if it could.
    await withHook(
      scene,
      ({ name }) => ({ allowed: name === "trial" }),
      {
        hook: {
          rules,
          objectSelector: {},
          namespaceSelector: {
            matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: [ns] }],
          },
        },
      },
      async ({ name, server }) => {
        expect(
          (await api.patch("merge", `${plural("Validating")}/${name}`, { metadata: { labels: { a: "b" } } })).status,
        ).toBe(200);
        expect(server.requests).toEqual([]);
      },
    );
  }),
];
