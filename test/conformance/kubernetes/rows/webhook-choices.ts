// Rows: admission webhooks: which requests a configuration chooses, and which configurations are valid.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { crd, group, row, widget, widgets } from "../row.ts";
import { configuration, plural, rule, trial, withHook } from "../webhook-configuration.ts";

export const webhookChoiceRows = [
  row("matchConditions select; an error in one refuses by Fail and skips by Ignore", async (scene) => {
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
  row("objectSelector matches the new or the old object", async (scene) => {
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
  row("matchPolicy: Equivalent gets the version of its rule, Exact only requests of that version", async (scene) => {
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
  row("a configuration gets defaults and a generation", async ({ api, unique }) => {
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
  row("an invalid configuration is refused field by field", async ({ api, unique }) => {
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
  row("webhook configurations are not reviewed", async (scene) => {
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
