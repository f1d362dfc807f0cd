// Rows: ValidatingAdmissionPolicy: what a policy sees, whom it asks, and how it answers.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { configMap, configMaps, row, widget, widgets, type Scene } from "../row.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

interface PolicyParts {
  spec: Json;
  binding?: Json;
  resources?: string[];
  group?: string;
  operations?: string[];
}

/** Installs a policy for this row's namespace only. It counts once `enforced` holds. */
async function policy(scene: Scene, parts: PolicyParts, enforced?: () => Promise<void>): Promise<string> {
  const name = scene.unique("policy");
  const rule = {
    apiGroups: [parts.group ?? "conformance.example"],
    apiVersions: ["v1"],
    operations: parts.operations ?? ["CREATE", "UPDATE"],
    resources: parts.resources ?? ["widgets"],
  };
  const made = await scene.api.post(`${admission}/validatingadmissionpolicies`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: { failurePolicy: "Fail", matchConstraints: { resourceRules: [rule] }, ...parts.spec },
  });
  expect(made.status, made.text).toBe(201);
  const bound = await scene.api.post(`${admission}/validatingadmissionpolicybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ["Deny"],
      matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": scene.ns } } },
      ...parts.binding,
    },
  });
  expect(bound.status, bound.text).toBe(201);
  if (enforced) await scene.eventually(enforced);
  return name;
}

const trial = async (api: Api, ns: string, spec: Json = {}, metadata: Json = {}) =>
  await api.post(`${widgets(ns)}?dryRun=All`, widget("trial", spec, metadata));

/** A Role of the row's namespace, bound to a user. kube-apiserver learns of it a little later. */
async function grant({ api, ns, unique, eventually }: Scene, user: string, rule: Json): Promise<void> {
  const name = unique("role");
  await api.post(`${rbac}/namespaces/${ns}/roles`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name },
    rules: [rule],
  });
  await api.post(`${rbac}/namespaces/${ns}/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  });
  await eventually(async () =>
    expect(
      (
        await api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: {
            user,
            resourceAttributes: {
              namespace: ns,
              verb: rule.verbs[0],
              group: rule.apiGroups[0],
              resource: rule.resources[0].split("/")[0],
              subresource: rule.resources[0].split("/")[1] ?? "",
              name: rule.resourceNames?.[0] ?? "",
            },
          },
        })
      ).body.status.allowed,
    ).toBe(true),
  );
}

export const admissionRows = [
  row("a policy denies with its message", async (scene) => {
    const { api, ns } = scene;
    const name = await policy(
      scene,
      { spec: { validations: [{ expression: "object.spec.size < 5", message: "size must stay under 5" }] } },
      async () => expect((await trial(api, ns, { size: 5 })).status).toBe(422),
    );
    const { status, body } = await trial(api, ns, { size: 7 });
    expect([status, body.reason]).toEqual([422, "Invalid"]);
    expect(body.message).toBe(
      `widgets.conformance.example "trial" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: size must stay under 5`,
    );
    expect((await trial(api, ns, { size: 4 })).status).toBe(201);
  }),
  row("a policy's reason and messageExpression are the answer's", async (scene) => {
    const { api, ns } = scene;
    await policy(
      scene,
      {
        spec: {
          variables: [{ name: "size", expression: "object.spec.size" }],
          validations: [
            {
              expression: "variables.size < 5",
              reason: "Forbidden",
              messageExpression: "'got ' + string(variables.size)",
            },
          ],
        },
      },
      async () => expect((await trial(api, ns, { size: 5 })).status).toBe(403),
    );
    const { body } = await trial(api, ns, { size: 7 });
    expect([body.reason, body.message.endsWith("denied request: got 7")]).toEqual(["Forbidden", true]);
  }),
  row("a binding limits the policy to the namespaces it selects", async (scene) => {
    const { api, ns, unique } = scene;
    await policy(scene, { spec: { validations: [{ expression: "false", message: "never" }] } }, async () =>
      expect((await trial(api, ns)).status).toBe(422),
    );
    const other = unique("free");
    await api.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: other } });
    expect((await api.post(widgets(other), widget("a"))).status).toBe(201);
  }),
  row("an update sees the old object, and every patch is an update", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a", { size: 3 }));
    await policy(
      scene,
      {
        operations: ["UPDATE"],
        spec: { validations: [{ expression: "object.spec.size >= oldObject.spec.size", message: "never smaller" }] },
      },
      async () =>
        expect((await api.patch("merge", `${widgets(ns)}/a?dryRun=All`, { spec: { size: 2 } })).status).toBe(422),
    );
    expect(
      (await api.patch("apply", `${widgets(ns)}/a?fieldManager=x&force=true`, widget("a", { size: 1 }))).status,
    ).toBe(422);
    expect(
      (await api.patch("json", `${widgets(ns)}/a`, [{ op: "replace", path: "/spec/size", value: 1 }])).status,
    ).toBe(422);
    expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 4 } })).status).toBe(200);
    expect((await api.post(widgets(ns), widget("b", { size: 0 }))).status).toBe(201);
  }),
  row("a delete has an old object and no new one", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("keep", {}, { labels: { keep: "yes" } }));
    await api.post(widgets(ns), widget("drop"));
    await policy(
      scene,
      {
        operations: ["DELETE"],
        spec: {
          validations: [
            {
              expression:
                "object == null && (!has(oldObject.metadata.labels) || !('keep' in oldObject.metadata.labels))",
              message: "kept",
            },
          ],
        },
      },
      async () => expect((await api.delete(`${widgets(ns)}/keep?dryRun=All`)).status).toBe(422),
    );
    expect((await api.delete(`${widgets(ns)}/drop`)).status).toBe(200);
    expect((await api.delete(`${widgets(ns)}/keep`)).status).toBe(422);
  }),
  row("a rule covers a subresource only when it names it", async (scene) => {
    const { api, ns } = scene;
    await api.post(widgets(ns), widget("a"));
    await policy(
      scene,
      {
        resources: ["widgets/status"],
        operations: ["UPDATE"],
        spec: {
          validations: [
            { expression: "request.subResource == 'status' && object.status.replicas < 5", message: "few" },
          ],
        },
      },
      async () =>
        expect(
          (await api.patch("merge", `${widgets(ns)}/a/status?dryRun=All`, { status: { replicas: 9 } })).status,
        ).toBe(422),
    );
    expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 9 } })).status).toBe(200);
    expect((await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: 4 } })).status).toBe(200);
  }),
  row("request names the user, operation, resource and namespace", async (scene) => {
    const { api, ns } = scene;
    const facts =
      "request.operation == 'CREATE' && request.namespace == '" +
      ns +
      "' && request.name == 'trial' && request.kind.kind == 'Widget' && request.resource.resource == 'widgets' && request.dryRun && request.userInfo.username == 'dora' && 'devs' in request.userInfo.groups";
    await policy(
      scene,
      {
        spec: {
          matchConditions: [
            { name: "labelled", expression: "has(object.metadata.labels) && 'facts' in object.metadata.labels" },
          ],
          validations: [{ expression: facts, message: "facts" }],
        },
      },
      async () => expect((await trial(api, ns, {}, { labels: { facts: "1" } })).status).toBe(422),
    );
    await grant(scene, "dora", { apiGroups: ["conformance.example"], resources: ["widgets"], verbs: ["create"] });
    const dora = api.as({ impersonate: "dora", groups: ["devs"] });
    const { status, text } = await trial(dora, ns, {}, { labels: { facts: "1" } });
    expect(status, text).toBe(201);
  }),
  row("namespaceObject is the object's namespace", async (scene) => {
    const { api, ns } = scene;
    await policy(scene, {
      spec: { validations: [{ expression: "!has(namespaceObject.metadata.labels.closed)", message: "closed" }] },
    });
    expect((await trial(api, ns)).status).toBe(201);
    await api.patch("merge", `/api/v1/namespaces/${ns}`, { metadata: { labels: { closed: "yes" } } });
    await scene.eventually(async () => expect((await trial(api, ns)).status).toBe(422));
    await api.patch("merge", `/api/v1/namespaces/${ns}`, { metadata: { labels: { closed: null } } });
    await scene.eventually(async () => expect((await trial(api, ns)).status).toBe(201));
  }),
  row(
    "params: a policy reads the object its binding names, and a missing one denies or allows as the binding says",
    async (scene) => {
      const { api, ns, unique } = scene;
      const param = unique("limits");
      const spec = {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        validations: [{ expression: "object.spec.size <= int(params.data.max)", message: "over the limit" }],
      };
      await policy(
        scene,
        { spec, binding: { paramRef: { name: param, namespace: ns, parameterNotFoundAction: "Deny" } } },
        async () => expect((await trial(api, ns)).status).toBeGreaterThanOrEqual(400),
      );
      await api.post(configMaps(ns), configMap(param, { max: "5" }));
      await scene.eventually(async () => expect((await trial(api, ns, { size: 5 })).status).toBe(201));
      expect((await trial(api, ns, { size: 6 })).body.message).toContain("over the limit");
      await api.patch("merge", `${configMaps(ns)}/${param}`, { data: { max: "6" } });
      await scene.eventually(async () => expect((await trial(api, ns, { size: 6 })).status).toBe(201));
    },
  ),
  row("the authorizer answers for the caller, by subresource, namespace and name", async (scene) => {
    const { api, ns } = scene;
    const check = `authorizer.group('conformance.example').resource('widgets').subresource('paint').namespace(request.namespace).name(request.name).check('update').allowed()`;
    await policy(scene, {
      spec: { validations: [{ expression: `!has(object.spec.color) || ${check}`, message: "may not paint" }] },
    });
    await grant(scene, "paula", { apiGroups: ["conformance.example"], resources: ["widgets"], verbs: ["create"] });
    const paula = api.as({ impersonate: "paula" });
    await scene.eventually(async () =>
      expect((await trial(paula, ns, { color: "red" })).body.message).toContain("may not paint"),
    );
    expect((await trial(paula, ns)).status).toBe(201);
    await grant(scene, "paula", {
      apiGroups: ["conformance.example"],
      resources: ["widgets/paint"],
      resourceNames: ["trial"],
      verbs: ["update"],
    });
    await scene.eventually(async () => expect((await trial(paula, ns, { color: "red" })).status).toBe(201));
    expect((await paula.post(`${widgets(ns)}?dryRun=All`, widget("other", { color: "red" }))).status).toBe(422);
    expect((await trial(api, ns, { color: "red" })).status).toBe(201);
  }),
  row("Warn admits with a warning; an error in an expression denies", async (scene) => {
    const { api, ns } = scene;
    const name = await policy(
      scene,
      {
        spec: { validations: [{ expression: "object.spec.size < 5", message: "rather large" }] },
        binding: { validationActions: ["Warn"] },
      },
      async () => expect((await trial(api, ns, { size: 6 })).headers["warning"]).toBeDefined(),
    );
    const { status, headers } = await trial(api, ns, { size: 6 });
    expect([status, headers["warning"]]).toEqual([
      201,
      `299 - "Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': rather large"`,
    ]);
    await policy(scene, { spec: { validations: [{ expression: "object.spec.color == 'red'" }] } }, async () =>
      expect((await trial(api, ns)).status).toBe(422),
    );
    expect((await trial(api, ns)).body.message).toContain("resulted in error: no such key: color");
  }),
  row("a refusal carries the warnings of the policies that only warn", async (scene) => {
    const { api, ns } = scene;
    const rule = (message: string) => ({ validations: [{ expression: "object.spec.size < 5", message }] });
    await policy(scene, { spec: rule("no") }, async () => expect((await trial(api, ns, { size: 6 })).status).toBe(422));
    await policy(scene, { spec: rule("rather large"), binding: { validationActions: ["Warn"] } }, async () => {
      const { status, headers } = await trial(api, ns, { size: 6 });
      expect([status, headers["warning"]]).toEqual([422, expect.stringContaining("rather large")]);
    });
  }),
  row("policies apply to built-in kinds, too", async (scene) => {
    const { api, ns } = scene;
    await policy(
      scene,
      {
        group: "",
        resources: ["configmaps"],
        spec: { validations: [{ expression: "!has(object.data) || !('forbidden' in object.data)", message: "no" }] },
      },
      async () =>
        expect((await api.post(`${configMaps(ns)}?dryRun=All`, configMap("a", { forbidden: "x" }))).status).toBe(422),
    );
    expect((await api.post(configMaps(ns), configMap("a", { fine: "x" }))).status).toBe(201);
  }),
  row("a policy whose expression does not compile is refused", async ({ api, unique }) => {
    const { status, body } = await api.post(`${admission}/validatingadmissionpolicies`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: unique("bad") },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        },
        validations: [{ expression: "object.x ==" }],
      },
    });
    expect([status, body.details.causes[0].field]).toEqual([422, "spec.validations[0].expression"]);
  }),
];
