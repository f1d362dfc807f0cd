// Rows: objects of built-in kinds that are accepted or refused for what stands in one field.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { row, widget, widgets } from "../row.ts";

const ADMISSION = "admissionregistration.k8s.io/v1";
const RBAC = "rbac.authorization.k8s.io/v1";

/** Status and refused fields of a dry-run create. */
async function dryRunCauses(api: Api, path: string, object: Json): Promise<(number | string)[]> {
  const { status, body } = await api.post(`${path}?dryRun=All`, { metadata: { name: "a" }, ...object });
  return [status, ...((body.details?.causes ?? []) as { field?: string }[]).map(({ field }) => field ?? "").sort()];
}

const labels = { a: "b" };
const deployment = (spec: Json, container: Json = {}): Json => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  spec: {
    selector: { matchLabels: labels },
    ...spec,
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i", ...container }] } },
  },
});
const deployments = (ns: string) => `/apis/apps/v1/namespaces/${ns}/deployments`;

export const validationRows = [
  row("a policy binding has known, distinct actions, and parameters by name or by selector", async ({ api }) => {
    const judgeBinding = (spec: Json) =>
      dryRunCauses(api, `/apis/${ADMISSION}/validatingadmissionpolicybindings`, {
        apiVersion: ADMISSION,
        kind: "ValidatingAdmissionPolicyBinding",
        spec: { policyName: "p.example.com", validationActions: ["Deny"], ...spec },
      });
    expect(await judgeBinding({})).toEqual([201]);
    expect(await judgeBinding({ validationActions: ["deny"] })).toEqual([422, "spec.validationActions[0]"]);
    expect(await judgeBinding({ validationActions: ["Deny", "Deny"] })).toEqual([422, "spec.validationActions[1]"]);
    expect(await judgeBinding({ validationActions: ["Deny", "Warn"] })).toEqual([422, "spec.validationActions"]);
    expect(await judgeBinding({ paramRef: { name: "p", selector: {}, parameterNotFoundAction: "deny" } })).toEqual([
      422,
      "spec.paramRef.name",
      "spec.paramRef.parameterNotFoundAction",
      "spec.paramRef.selector",
    ]);
    expect(
      await judgeBinding({
        matchResources: { namespaceSelector: { matchExpressions: [{ key: "a", operator: "in", values: ["b"] }] } },
      }),
    ).toEqual([422, "spec.matchResources.namespaceSelector.matchExpressions[0].operator"]);
  }),
  row("rules of a policy or webhook name operations, and their selectors are valid", async ({ api }) => {
    const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
    const objectSelector = { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] };
    const policy = (matchConstraints: Json) =>
      dryRunCauses(api, `/apis/${ADMISSION}/validatingadmissionpolicies`, {
        apiVersion: ADMISSION,
        kind: "ValidatingAdmissionPolicy",
        spec: { matchConstraints, validations: [{ expression: "true" }] },
      });
    expect(await policy({ resourceRules: [{ ...rule, operations: ["CREATE"] }] })).toEqual([201]);
    expect(await policy({ resourceRules: [rule] })).toEqual([422, "spec.matchConstraints.resourceRules[0].operations"]);
    expect(await policy({ resourceRules: [{ ...rule, operations: ["CREATE"] }], objectSelector })).toEqual([
      422,
      "spec.matchConstraints.objectSelector.matchExpressions[0].values",
    ]);
    const webhook = {
      name: "a.b.example",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      clientConfig: { url: "https://127.0.0.1/" },
      rules: [{ ...rule, operations: ["CREATE"] }],
      objectSelector,
    };
    expect(
      await dryRunCauses(api, `/apis/${ADMISSION}/validatingwebhookconfigurations`, {
        apiVersion: ADMISSION,
        kind: "ValidatingWebhookConfiguration",
        webhooks: [webhook],
      }),
    ).toEqual([422, "webhooks[0].objectSelector.matchExpressions[0].values"]);
  }),
  row("values in a selector are valid label values", async ({ api, ns }) => {
    const selector = {
      matchLabels: labels,
      matchExpressions: [{ key: "c", operator: "NotIn", values: ["not valid!"] }],
    };
    expect(await dryRunCauses(api, deployments(ns), deployment({ selector }))).toEqual([
      422,
      "spec.selector",
      "spec.selector.matchExpressions[0].values[0]",
    ]);
  }),
  row("a number fits its type; a quantity is a string or a number", async ({ api, ns }) => {
    expect(await dryRunCauses(api, deployments(ns), deployment({ replicas: 99_999_999_999 }))).toEqual([400]);
    expect(
      await dryRunCauses(
        api,
        deployments(ns),
        deployment({ strategy: { rollingUpdate: { maxSurge: 99_999_999_999 } } }),
      ),
    ).toEqual([400]);
    expect(await dryRunCauses(api, deployments(ns), deployment({}, { resources: { limits: { cpu: true } } }))).toEqual([
      400,
    ]);
    expect(await dryRunCauses(api, deployments(ns), deployment({}, { resources: { limits: { cpu: 2 } } }))).toEqual([
      201,
    ]);
  }),
  row("times in metadata and managedFields are valid for any kind", async ({ api, ns }) => {
    const times = [
      { deletionTimestamp: "soon" },
      { creationTimestamp: "2026-01-01" },
      {
        managedFields: [
          { manager: "m", operation: "Update", apiVersion: "v1", time: "never", fieldsType: "FieldsV1", fieldsV1: {} },
        ],
      },
    ];
    for (const time of times) {
      const metadata = { name: "a", ...time };
      expect(await dryRunCauses(api, deployments(ns), { ...deployment({}), metadata })).toEqual([400]);
      expect(await dryRunCauses(api, widgets(ns), { ...widget("a"), metadata })).toEqual([400]);
    }
  }),
  row("invalid times in the metadata of an applied custom object are ignored", async ({ api, ns }) => {
    const entry = {
      manager: "m",
      operation: "Update",
      apiVersion: "v1",
      time: "",
      fieldsType: "FieldsV1",
      fieldsV1: {},
    };
    for (const time of [
      { creationTimestamp: "" },
      { creationTimestamp: "2026-01-01" },
      { deletionTimestamp: "" },
      { deletionTimestamp: "soon" },
      { managedFields: [entry] },
    ]) {
      const applied = await api.patch("apply", `${widgets(ns)}/a?fieldManager=one&force=true`, widget("a", {}, time));
      expect([200, 201]).toContain(applied.status);
      expect(applied.body.metadata).toMatchObject({
        creationTimestamp: expect.stringMatching(/^20.+Z$/),
        managedFields: [{ manager: "one" }],
      });
      expect(applied.body.metadata).not.toHaveProperty("deletionTimestamp");
    }
    expect(
      (
        await api.patch(
          "apply",
          `${widgets(ns)}/a?fieldManager=one`,
          widget("a", {}, { managedFields: [{ ...entry, time: "2026-01-01T00:00:00Z" }] }),
        )
      ).status,
    ).toBe(400);
  }),
  row("a grace period of a probe is positive, and a readiness probe has none", async ({ api, ns }) => {
    const probe = (terminationGracePeriodSeconds: number) => ({
      tcpSocket: { port: 80 },
      terminationGracePeriodSeconds,
    });
    const at = "spec.template.spec.containers[0]";
    expect(await dryRunCauses(api, deployments(ns), deployment({}, { readinessProbe: probe(30) }))).toEqual([
      422,
      `${at}.readinessProbe.terminationGracePeriodSeconds`,
    ]);
    expect(await dryRunCauses(api, deployments(ns), deployment({}, { livenessProbe: probe(0) }))).toEqual([
      422,
      `${at}.livenessProbe.terminationGracePeriodSeconds`,
    ]);
    expect(
      await dryRunCauses(api, deployments(ns), deployment({}, { startupProbe: probe(1), livenessProbe: probe(1) })),
    ).toEqual([201]);
  }),
  row("a quantity keeps its exponent", async ({ api, ns }) => {
    const { body } = await api.post(`${deployments(ns)}?dryRun=All`, {
      metadata: { name: "a" },
      ...deployment({}, { resources: { limits: { cpu: "1e3", memory: "1e21" } } }),
    });
    expect(body.spec?.template.spec.containers[0].resources.limits).toEqual({ cpu: "1e3", memory: "1e21" });
  }),
  row("the size limit of data counts bytes", async ({ api, ns }) => {
    const MIB = 1024 * 1024;
    const configMap = (content: Json) =>
      dryRunCauses(api, `/api/v1/namespaces/${ns}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", ...content });
    expect(await configMap({ data: { a: "é".repeat(MIB / 2 + 1) } })).toEqual([422, "[]"]);
    expect(await configMap({ binaryData: { a: Buffer.alloc(MIB - 1).toString("base64") } })).toEqual([201]);
    const secret = (bytes: number) =>
      dryRunCauses(api, `/api/v1/namespaces/${ns}/secrets`, {
        apiVersion: "v1",
        kind: "Secret",
        data: { a: Buffer.alloc(bytes).toString("base64") },
      });
    expect(await secret(MIB)).toEqual([201]);
    expect(await secret(MIB + 1)).toEqual([422, "data"]);
  }),
  row("a Secret may have any type, and null as its registry credentials", async ({ api, ns }) => {
    const secret = (type: string, data: Json = {}) =>
      dryRunCauses(api, `/api/v1/namespaces/${ns}/secrets`, { apiVersion: "v1", kind: "Secret", type, data });
    expect(await secret("constructor")).toEqual([201]);
    expect(
      await secret("kubernetes.io/dockerconfigjson", { ".dockerconfigjson": Buffer.from("null").toString("base64") }),
    ).toEqual([201]);
  }),
  row("a subject has a known kind; an aggregation rule has selectors", async ({ api, ns }) => {
    const binding = {
      apiVersion: RBAC,
      kind: "RoleBinding",
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "constructor", name: "x", apiGroup: "rbac.authorization.k8s.io" }],
    };
    expect(await dryRunCauses(api, `/apis/${RBAC}/namespaces/${ns}/rolebindings`, binding)).toEqual([
      422,
      "subjects[0].kind",
    ]);
    expect(
      await dryRunCauses(api, `/apis/${RBAC}/clusterroles`, {
        apiVersion: RBAC,
        kind: "ClusterRole",
        aggregationRule: {},
      }),
    ).toEqual([422, "aggregationRule.clusterRoleSelectors"]);
  }),
  row("a cluster IP is a valid address", async ({ api, ns }) => {
    const [status] = await dryRunCauses(api, `/api/v1/namespaces/${ns}/services`, {
      apiVersion: "v1",
      kind: "Service",
      spec: { clusterIP: "hello:world", ports: [{ port: 80 }] },
    });
    expect(status).toBe(422);
  }),
  row("a Job with parallelism alone gets no default completions", async ({ api, ns }) => {
    const job = (spec: Json) =>
      api.post(`/apis/batch/v1/namespaces/${ns}/jobs?dryRun=All`, {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "a" },
        spec: { ...spec, template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } },
      });
    expect((await job({ parallelism: 3 })).body.spec).not.toHaveProperty("completions");
    expect((await job({})).body.spec).toMatchObject({ completions: 1, parallelism: 1 });
  }),
  row("null stays null in fields of arbitrary JSON", async ({ api }) => {
    const schema = {
      type: "object",
      properties: {
        spec: { type: "object", properties: { level: { type: "string", nullable: true, enum: ["a", null] } } },
      },
    };
    const spec = {
      group: "null.example",
      scope: "Namespaced",
      names: { plural: "nulls", kind: "Null", singular: "null", listKind: "NullList" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    };
    const { body } = await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "nulls.null.example" },
      spec,
    });
    expect(body.spec?.versions[0].schema.openAPIV3Schema.properties.spec.properties.level.enum).toEqual(["a", null]);
  }),
];
