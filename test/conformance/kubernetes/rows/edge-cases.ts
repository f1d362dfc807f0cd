// Rows: edge cases that the random writes of test/conformance/fidelity found.
import { expect } from "vitest";
import { group, row, widget, widgets } from "../row.ts";

const leases = (ns: string) => `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`;
const services = (ns: string) => `/api/v1/namespaces/${ns}/services`;

export const edgeCaseRows = [
  row("a Lease takes a finalizer without a domain, a ConfigMap does not", async ({ api, ns }) => {
    const metadata = { name: "a", finalizers: ["no-domain"] };
    expect((await api.post(leases(ns), { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata })).status).toBe(
      201,
    );
    await api.patch("merge", `${leases(ns)}/a`, { metadata: { finalizers: null } });
    expect(
      (await api.post(`/api/v1/namespaces/${ns}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata })).status,
    ).toBe(422);
  }),
  row("an invalid image reference gets the pull policy IfNotPresent", async ({ api, ns }) => {
    const containers = ["nginx", "nginx:1.27", "registry.example:5000/x", "Not OK!"].map((image, at) => ({
      name: `c${at}`,
      image,
    }));
    const { body, text } = await api.post(`/apis/apps/v1/namespaces/${ns}/deployments?dryRun=All`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers } },
      },
    });
    expect(
      body.spec?.template.spec.containers.map(({ imagePullPolicy }: { imagePullPolicy: string }) => imagePullPolicy),
      text,
    ).toEqual(["Always", "IfNotPresent", "Always", "IfNotPresent"]);
  }),
  row("an empty list of managedFields resets a ConfigMap but not a custom object", async ({ api, ns }) => {
    const reset = { metadata: { managedFields: [] } };
    await api.post(`${widgets(ns)}?fieldManager=one`, widget("a", { size: 3 }));
    expect((await api.patch("merge", `${widgets(ns)}/a`, reset)).body.metadata.managedFields).toHaveLength(1);
    await api.post(`/api/v1/namespaces/${ns}/configmaps`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a" },
      data: { a: "b" },
    });
    expect(
      (await api.patch("merge", `/api/v1/namespaces/${ns}/configmaps/a`, reset)).body.metadata.managedFields,
    ).toBeUndefined();
  }),
  row("a body of another kind is refused for its kind alone, whatever else is wrong", async ({ api, ns }) => {
    const { status, body } = await api.post(`${widgets(ns)}?fieldValidation=Strict`, {
      ...widget("a", { nope: 1 }),
      kind: "Other",
    });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      details: {
        group,
        kind: "Other",
        causes: [{ field: "kind", message: 'Invalid value: "Other": must be Widget' }],
      },
    });
  }),
  row(
    "a custom object without a kind is refused, with a shorter message for fieldValidation=Ignore",
    async ({ api, ns }) => {
      const { kind: _gone, ...body } = widget("a");
      const text = JSON.stringify(body);
      const messageOf = async (query: string) =>
        (await api.send("POST", widgets(ns) + query, { body: text, headers: { "content-type": "application/json" } }))
          .body.message;
      expect(await messageOf("?fieldValidation=Ignore")).toBe(
        `Widget in version "v1" cannot be handled as a Widget: Object 'Kind' is missing in '${text}'`,
      );
      expect(await messageOf("")).toMatch(
        /^the object provided is unrecognized \(must be of type Widget\): Object 'Kind' is missing in /,
      );
    },
  ),
  row(
    "a Deployment: a fieldRef needs a path, a list is no quantity, the kind cannot be patched",
    async ({ api, ns }) => {
      const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
      const deployment = (container: object): object => ({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "a" },
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: {
            metadata: { labels: { a: "b" } },
            spec: { containers: [{ name: "c", image: "i", ...container }] },
          },
        },
      });
      const { status, body } = await api.post(
        deployments,
        deployment({ env: [{ name: "A", valueFrom: { fieldRef: {} } }] }),
      );
      expect(status).toBe(422);
      expect(body.details?.causes).toMatchObject([
        { field: "spec.template.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath", reason: "FieldValueRequired" },
      ]);
      expect((await api.post(deployments, deployment({}))).status).toBe(201);
      const list = await api.patch(
        "merge",
        `${deployments}/a`,
        deployment({ resources: { limits: { memory: ["1Gi"] } } }),
      );
      expect([list.status, list.body.message]).toEqual([
        422,
        expect.stringContaining("quantities must match the regular expression"),
      ]);
      const other = await api.patch("json", `${deployments}/a`, [
        { op: "replace", path: "", value: { kind: "Other" } },
      ]);
      expect([other.status, other.body.message]).toEqual([
        422,
        expect.stringContaining('internal version of group "apps"'),
      ]);
    },
  ),
  row(
    "an invalid Deployment, Service, Ingress, Lease or RoleBinding is refused field by field",
    async ({ api, ns }) => {
      const pods = {
        metadata: { labels: { a: "b" } },
        spec: {
          containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v" }] }, { name: "c" }],
        },
      };
      const fieldsOf = async (path: string, apiVersion: string, kind: string, more: object) => {
        const { status, body } = await api.post(`${path}?dryRun=All`, {
          apiVersion,
          kind,
          metadata: { name: "a" },
          ...more,
        });
        return [status, ...(body.details?.causes ?? []).map(({ field }: { field: string }) => field).sort()];
      };
      const at = "spec.template.spec.containers";
      expect(
        await fieldsOf(`/apis/apps/v1/namespaces/${ns}/deployments`, "apps/v1", "Deployment", {
          spec: { selector: { matchLabels: { a: "b" } }, template: pods, minReadySeconds: 600 },
        }),
      ).toEqual([
        422,
        "spec.progressDeadlineSeconds",
        `${at}[0].volumeMounts[0].name`,
        `${at}[1].image`,
        `${at}[1].name`,
      ]);
      expect(
        await fieldsOf(services(ns), "v1", "Service", {
          spec: {
            ports: [
              { port: 80, targetPort: 70_000, name: "a" },
              { port: 80, name: "a" },
            ],
          },
        }),
      ).toEqual([422, "spec.ports[0].targetPort", "spec.ports[1]", "spec.ports[1].name"]);
      expect(
        await fieldsOf(`/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`, "networking.k8s.io/v1", "Ingress", {
          spec: { rules: [{ host: "A", http: { paths: [{ path: "x", pathType: "Prefix", backend: {} }] } }] },
        }),
      ).toEqual([422, "spec.rules[0].host", "spec.rules[0].http.paths[0].backend", "spec.rules[0].http.paths[0].path"]);
      expect(
        await fieldsOf(leases(ns), "coordination.k8s.io/v1", "Lease", { spec: { leaseDurationSeconds: 0 } }),
      ).toEqual([422, "spec.leaseDurationSeconds"]);
      expect(
        await fieldsOf(
          `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/rolebindings`,
          "rbac.authorization.k8s.io/v1",
          "RoleBinding",
          { roleRef: { kind: "Role", name: "a/b" }, subjects: [{ kind: "User", name: "u", apiGroup: "x" }] },
        ),
      ).toEqual([422, "roleRef.name", "subjects[0].apiGroup"]);
    },
  ),
  row("an update without deletionTimestamp removes its owner, not the timestamp", async ({ api, ns }) => {
    await api.patch("apply", `${leases(ns)}/a?fieldManager=one`, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: "a",
        labels: { tier: "web" },
        finalizers: ["example.com/a"],
        deletionTimestamp: "2020-01-01T00:00:00Z",
      },
    });
    const { body: live } = await api.get(`${leases(ns)}/a`);
    const { deletionTimestamp: _gone, ...metadata } = live.metadata;
    const { body } = await api.put(`${leases(ns)}/a`, { ...live, metadata });
    await api.patch("merge", `${leases(ns)}/a`, { metadata: { finalizers: null } });
    expect(body.metadata.deletionTimestamp).toBe("2020-01-01T00:00:00Z");
    expect(body.metadata.managedFields[0].fieldsV1["f:metadata"]).not.toHaveProperty("f:deletionTimestamp");
  }),
  row("deleting an object that was applied with a deletionTimestamp sets a grace period of 0", async ({ api, ns }) => {
    await api.patch(
      "apply",
      `${widgets(ns)}/a?fieldManager=one`,
      widget("a", {}, { deletionTimestamp: "2020-01-01T00:00:00Z", finalizers: ["example.com/a"] }),
    );
    const { body } = await api.delete(`${widgets(ns)}/a`);
    await api.patch("merge", `${widgets(ns)}/a`, { metadata: { finalizers: null } });
    expect(body.metadata).toMatchObject({ deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 });
  }),
  row("applied managedFields are refused, and a value that is not a list of them for its type", async ({ api, ns }) => {
    for (const [path, object] of [
      [leases(ns), { apiVersion: "coordination.k8s.io/v1", kind: "Lease" }],
      [widgets(ns), { apiVersion: `${group}/v1`, kind: "Widget" }],
    ] as const) {
      const apply = async (managedFields: unknown) => {
        const { status, body } = await api.patch("apply", `${path}/a?fieldManager=one`, {
          ...object,
          metadata: { name: "a", managedFields },
        });
        return [status, body.message];
      };
      for (const owners of [[], [{}], [{ unknown: 1 }]])
        expect(await apply(owners)).toEqual([400, "metadata.managedFields must be nil"]);
      for (const owners of [7, {}, "x"])
        expect(await apply(owners)).toEqual([500, expect.stringContaining(".metadata.managedFields: expected list")]);
      expect(await apply([1])).toEqual([500, expect.stringContaining(".metadata.managedFields[0]: expected map")]);
      expect(await apply([{ manager: 7 }])).toEqual([
        500,
        expect.stringContaining(".metadata.managedFields[0].manager: expected string"),
      ]);
      expect((await apply([null]))[0]).toBe(201);
    }
  }),
  row("apply fails on a live object with a list item that lacks its key", async ({ api, ns }) => {
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`;
    const account = { apiVersion: "v1", kind: "ServiceAccount" };
    const apply = (name: string, more: object) =>
      api.patch("apply", `${accounts}/${name}?fieldManager=one`, { ...account, metadata: { name }, ...more });
    await api.post(accounts, { ...account, metadata: { name: "unowned" }, secrets: [null] });
    const refused = await apply("unowned", { secrets: [{ name: "s" }] });
    expect([refused.status, refused.body.message]).toEqual([
      500,
      expect.stringContaining(
        `failed to create manager for existing fields: failed to convert new object (${ns}/unowned; `,
      ),
    ]);
    // The fault of what is there is told before that of what is applied.
    expect((await apply("unowned", { unknown: 1 })).body.message).toMatch(
      /^failed to create manager for existing fields: /,
    );
    expect((await apply("owned", { secrets: [{ name: null }] })).status).toBe(201);
    expect((await apply("owned", {})).body).toMatchObject({
      code: 500,
      message: expect.stringContaining("failed to create typed live object"),
    });
    expect((await apply("owned", { unknown: 1 })).body.message).toMatch(/^failed to create typed patch object /);
  }),
  row(
    "a duplicate unknown field is reported as unknown, and for a custom object also as duplicate",
    async ({ api, ns }) => {
      const faultsOf = async (method: "POST" | "PUT", path: string, text: string) =>
        (
          await api.send(method, `${path}?fieldValidation=Strict`, {
            body: text,
            headers: { "content-type": "application/json" },
          })
        ).body.message?.split("strict decoding error: ")[1];
      const lease = (more: string) =>
        `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"},${more}}`;
      for (const [more, faults] of [
        ['"none":1,"none":1', 'unknown field "none"'],
        ['"spec":{"none":{"a":1,"a":1}}', 'unknown field "spec.none"'],
        ['"spec":{"none":[{"a":1,"a":1}]}', 'unknown field "spec.none"'],
        [
          '"spec":{"holderIdentity":"a","holderIdentity":"b","holderIdentity":"c"}',
          'duplicate field "spec.holderIdentity"',
        ],
      ] as const) {
        expect(await faultsOf("POST", leases(ns), lease(more))).toBe(faults);
        expect(await faultsOf("PUT", `${leases(ns)}/a`, lease(more))).toBe(faults);
      }
      expect(
        await faultsOf(
          "POST",
          widgets(ns),
          `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"a"},"none":1,"none":1}`,
        ),
      ).toBe('duplicate field "none", unknown field "none"');
    },
  ),
  row("a JSON or merge patch that removes apiVersion is refused", async ({ api, ns }) => {
    const secret = `/api/v1/namespaces/${ns}/secrets/a`;
    await api.post(`/api/v1/namespaces/${ns}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } });
    const patched = async (type: "json" | "merge" | "strategic", query: string, patch: unknown) => {
      const { status, body } = await api.patch(type, `${secret}?dryRun=All${query}`, patch);
      return [status, body.message?.replace(/.*strict decoding/s, "strict decoding")];
    };
    const nameless = [400, "the name of the object (a based on URL) was undeterminable: name must be provided"];
    const emptied = [
      { op: "replace", path: "", value: {} },
      { op: "add", path: "/stringData", value: { s: "" } },
    ];
    expect(await patched("json", "", emptied)).toEqual(nameless);
    expect(await patched("json", "&fieldValidation=Strict", emptied)).toEqual([
      422,
      'strict decoding error: unknown field "stringData"',
    ]);
    expect(await patched("json", "", [{ op: "remove", path: "/apiVersion" }])).toEqual(nameless);
    expect(await patched("merge", "", { apiVersion: null })).toEqual(nameless);
    expect(await patched("merge", "", { kind: null })).toEqual([200, undefined]);
    expect(await patched("strategic", "", { apiVersion: null, kind: null })).toEqual([200, undefined]);
  }),
];
