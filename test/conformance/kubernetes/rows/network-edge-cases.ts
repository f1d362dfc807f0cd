// Rows: edge cases of Services, Ingresses and Namespaces that the random writes of test/conformance/fidelity found.
import { expect } from "vitest";
import { row } from "../row.ts";

const services = (ns: string) => `/api/v1/namespaces/${ns}/services`;

export const networkEdgeCaseRows = [
  row("an apply of the status can create a Service, without an address", async ({ api, ns }) => {
    const made = await api.patch("apply", `${services(ns)}/a/status?fieldManager=one`, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a", labels: { a: "b" } },
      spec: { ports: [{ port: 80 }] },
    });
    expect(made.status, made.text).toBe(201);
    expect(made.body).toMatchObject({
      metadata: {
        managedFields: [
          { manager: "one", subresource: "status", fieldsV1: { "f:metadata": { "f:labels": { "f:a": {} } } } },
        ],
      },
      status: { loadBalancer: {} },
    });
    expect(made.body.spec).toEqual({
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      type: "ClusterIP",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
    });
    const changed = await api.patch("merge", `${services(ns)}/a`, { spec: { internalTrafficPolicy: "Local" } });
    expect(changed.body.spec).toMatchObject({
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Local",
    });
    expect(
      (
        await api.put(`${services(ns)}/b/status`, {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "b" },
          spec: { ports: [{ port: 80 }] },
        })
      ).status,
    ).toBe(201);
    expect((await api.patch("merge", `${services(ns)}/c/status`, { spec: { ports: [{ port: 80 }] } })).status).toBe(
      404,
    );
  }),
  row("a Service that becomes an ExternalName loses its addresses", async ({ api, ns }) => {
    const make = (name: string) =>
      api.post(services(ns), {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name },
        spec: { ports: [{ port: 80 }] },
      });
    for (const [name, given] of [
      ["a", {}],
      ["b", { clusterIP: "" }],
      ["c", { clusterIPs: null }],
    ] as const) {
      expect((await make(name)).body.spec.clusterIPs).toHaveLength(1);
      const { status, body } = await api.patch("merge", `${services(ns)}/${name}`, {
        spec: { ...given, type: "ExternalName", externalName: "example.com" },
      });
      expect(status).toBe(200);
      expect(body.spec).not.toHaveProperty("clusterIP");
      expect(body.spec).not.toHaveProperty("clusterIPs");
    }
  }),
  row("a load balancer's status has addresses and names; a Service of another type loses it", async ({ api, ns }) => {
    const ingresses = `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`;
    await api.post(ingresses, {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "a" },
      spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } },
    });
    await api.post(services(ns), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a" },
      spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
    });
    await api.post(services(ns), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "b" },
      spec: { ports: [{ port: 80 }] },
    });
    const report = async (path: string, ...ingress: object[]) => {
      const { status, body } = await api.patch("merge", `${path}/status`, { status: { loadBalancer: { ingress } } });
      return status === 200
        ? body.status.loadBalancer.ingress
        : [status, ...(body.details?.causes ?? []).map(({ field }: { field: string }) => field)];
    };
    const at = "status.loadBalancer.ingress";
    for (const path of [`${ingresses}/a`, `${services(ns)}/a`])
      expect(await report(path, { ip: "1.2.3" }, { hostname: "Not OK!" }, { hostname: "10.1.1.1" })).toEqual([
        422,
        `${at}[0].ip`,
        `${at}[1].hostname`,
        `${at}[2].hostname`,
      ]);
    expect(await report(`${ingresses}/a`, { ip: "10.1.1.1" })).toEqual([{ ip: "10.1.1.1" }]);
    expect(await report(`${services(ns)}/a`, { ip: "10.1.1.1" }, { hostname: "a.example" })).toEqual([
      { ip: "10.1.1.1", ipMode: "VIP" },
      { hostname: "a.example" },
    ]);
    expect(await report(`${services(ns)}/b`, { ip: "10.1.1.1" })).toEqual([422, at]);
    expect((await api.patch("merge", `${services(ns)}/a`, { spec: { type: "ClusterIP" } })).body.status).toEqual({
      loadBalancer: {},
    });
  }),
  row("a Namespace keeps the finalizers of its content, and gets the one of Kubernetes", async ({ api, unique }) => {
    const make = (...finalizers: (string | null)[]) =>
      api.post("/api/v1/namespaces?dryRun=All", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: unique("finalized") },
        spec: { finalizers },
      });
    for (const [given, kept] of [
      [[], ["kubernetes"]],
      [
        ["kubernetes", "kubernetes"],
        ["kubernetes", "kubernetes"],
      ],
      [["example.com/a"], ["example.com/a", "kubernetes"]],
    ] as const) {
      expect((await make(...given)).body.spec).toEqual({ finalizers: kept });
    }
    for (const name of ["no-domain", "Not OK!", "example.com/Not OK!", null]) {
      const { status, body } = await make(name);
      expect([status, ...new Set(body.details?.causes.map(({ field }: { field: string }) => field))]).toEqual([
        422,
        "spec.finalizers",
      ]);
    }
  }),
  row("a Namespace exists until the last finalizer of its content is removed", async ({ api, unique, eventually }) => {
    const name = unique("held");
    await api.post("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
      spec: { finalizers: ["example.com/a"] },
    });
    expect((await api.delete(`/api/v1/namespaces/${name}`)).status).toBe(200);
    await eventually(async () =>
      expect((await api.get(`/api/v1/namespaces/${name}`)).body.spec).toEqual({ finalizers: ["example.com/a"] }),
    );
    const { body } = await api.get(`/api/v1/namespaces/${name}`);
    const refused = await api.put(`/api/v1/namespaces/${name}/finalize`, {
      ...body,
      spec: { finalizers: ["example.com/a", "no-domain"] },
    });
    expect(refused.body).toMatchObject({ code: 422, details: { causes: [{ field: "spec.finalizers[1]" }] } });
    expect((await api.put(`/api/v1/namespaces/${name}/finalize`, { ...body, spec: {} })).status).toBe(200);
    await eventually(async () => expect((await api.get(`/api/v1/namespaces/${name}`)).status).toBe(404));
  }),
  row("a Service with impossible address families is refused for that alone", async ({ api, ns }) => {
    const bad = { labels: { a: "not valid!" } };
    const fieldsOf = ({ status, body }: { status: number; body: { details?: { causes: { field: string }[] } } }) => [
      status,
      ...(body.details?.causes ?? []).map(({ field }) => field).sort(),
    ];
    expect(
      fieldsOf(
        await api.post(services(ns), {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "a", ...bad },
          spec: { ipFamilyPolicy: "RequireDualStack", ports: [{ port: 80 }] },
        }),
      ),
    ).toEqual([422, "spec.ipFamilyPolicy"]);
    await api.post(services(ns), {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "a" },
      spec: { clusterIP: "None" },
    });
    expect(
      fieldsOf(
        await api.patch("merge", `${services(ns)}/a`, {
          metadata: { ...bad, deletionTimestamp: "2020-01-01T00:00:00Z" },
          spec: { selector: { a: "b" } },
        }),
      ),
    ).toEqual([422, "spec.ipFamilies[1]", "spec.ipFamilyPolicy"]);
  }),
];
