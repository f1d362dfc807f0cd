// Rows: what a client finds out about a server before it asks for objects: groups, resources, schemas, health.
import { expect } from "vitest";
import type { Json } from "../api.ts";
import { crd, group, row } from "../row.ts";

const aggregated = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };

export const discoveryRows = [
  row("/api and /apis name versions and groups", async ({ api }) => {
    expect((await api.get("/api")).body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    const { body } = await api.get("/apis");
    expect(body.kind).toBe("APIGroupList");
    const names = body.groups.map((entry: Json) => entry.name);
    expect(names).toEqual(
      expect.arrayContaining([
        group,
        "rbac.authorization.k8s.io",
        "apiextensions.k8s.io",
        "admissionregistration.k8s.io",
        "coordination.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
      ]),
    );
    expect(body.groups.find((entry: Json) => entry.name === group)).toEqual({
      name: group,
      versions: [{ groupVersion: `${group}/v1`, version: "v1" }],
      preferredVersion: { groupVersion: `${group}/v1`, version: "v1" },
    });
    expect((await api.get(`/apis/${group}`)).body).toMatchObject({ kind: "APIGroup", name: group });
  }),
  row("a group version lists its resources with verbs, short names and categories", async ({ api }) => {
    const { body } = await api.get(`/apis/${group}/v1`);
    expect(body).toMatchObject({ kind: "APIResourceList", groupVersion: `${group}/v1` });
    const find = (name: string) => body.resources.find((entry: Json) => entry.name === name);
    expect(find("widgets")).toMatchObject({
      singularName: "widget",
      namespaced: true,
      kind: "Widget",
      shortNames: ["wg"],
      categories: ["conformance"],
    });
    expect([...find("widgets").verbs].sort()).toEqual([
      "create",
      "delete",
      "deletecollection",
      "get",
      "list",
      "patch",
      "update",
      "watch",
    ]);
    expect([...find("widgets/status").verbs].sort()).toEqual(["get", "patch", "update"]);
    expect(find("widgets/scale")).toMatchObject({ group: "autoscaling", version: "v1", kind: "Scale" });
  }),
  row("core v1 has the kinds that everyone expects", async ({ api }) => {
    const { body } = await api.get("/api/v1");
    const names = body.resources.map((entry: Json) => entry.name);
    expect(names).toEqual(
      expect.arrayContaining([
        "namespaces",
        "namespaces/status",
        "namespaces/finalize",
        "configmaps",
        "secrets",
        "services",
        "serviceaccounts",
        "serviceaccounts/token",
        "events",
        "endpoints",
      ]),
    );
    expect(body.resources.find((entry: Json) => entry.name === "configmaps").shortNames).toEqual(["cm"]);
  }),
  row("aggregated discovery says it in one answer", async ({ api }) => {
    const { body, headers } = await api.get("/apis", aggregated);
    expect([body.kind, String(headers["content-type"])]).toEqual([
      "APIGroupDiscoveryList",
      expect.stringContaining("g=apidiscovery.k8s.io"),
    ]);
    const found = body.items.find((item: Json) => item.metadata.name === group);
    expect(found.versions[0]).toMatchObject({ version: "v1" });
    const [widget] = found.versions[0].resources.filter((entry: Json) => entry.resource === "widgets");
    expect(widget).toMatchObject({
      responseKind: { group, version: "v1", kind: "Widget" },
      scope: "Namespaced",
      singularResource: "widget",
      shortNames: ["wg"],
      categories: ["conformance"],
    });
    expect(widget.subresources.map((entry: Json) => entry.subresource).sort()).toEqual(["scale", "status"]);
    expect(
      (await api.get("/api", aggregated)).body.items[0].versions[0].resources.map((entry: Json) => entry.resource),
    ).toContain("configmaps");
  }),
  row("OpenAPI v3: an index with hashes, and schemas with descriptions and kinds", async ({ api, eventually }) => {
    const { path, index } = await eventually(async () => {
      const found = (await api.get("/openapi/v3")).body;
      expect(found.paths[`apis/${group}/v1`]).toBeDefined();
      return { path: found.paths[`apis/${group}/v1`].serverRelativeURL as string, index: found };
    });
    expect(path).toMatch(new RegExp(`^/openapi/v3/apis/${group}/v1\\?hash=`));
    expect(Object.keys(index.paths)).toEqual(expect.arrayContaining(["api/v1", "apis/rbac.authorization.k8s.io/v1"]));
    await eventually(async () => {
      const { body } = await api.get(path.split("?")[0]!);
      const [, schema] =
        Object.entries<Json>(body.components.schemas).find(([, entry]) =>
          entry["x-kubernetes-group-version-kind"]?.some((gvk: Json) => gvk.kind === "Widget"),
        ) ?? [];
      expect(schema?.["x-kubernetes-group-version-kind"]).toEqual([{ group, version: "v1", kind: "Widget" }]);
      expect(schema.description).toBe("A Widget is something to judge a server with.");
      expect(schema.properties.spec).toMatchObject({
        description: "What the widget should be.",
        properties: { size: { description: "How large.", type: "integer" } },
      });
      expect(Object.keys(body.paths)).toContain(`/apis/${group}/v1/namespaces/{namespace}/widgets/{name}`);
    });
    const core = await api.get("/openapi/v3/api/v1");
    expect(core.body.components.schemas["io.k8s.api.core.v1.ConfigMap"].properties.data.type).toBe("object");
  }),
  row("a new definition appears in discovery, and goes with it", async ({ api, unique, eventually }) => {
    const plural = unique("news").replace("-", "");
    const made = crd(plural, plural[0]!.toUpperCase() + plural.slice(1), { type: "object" });
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made);
    const names = async () => (await api.get(`/apis/${group}/v1`)).body.resources.map((entry: Json) => entry.name);
    await eventually(async () => expect(await names()).toContain(plural));
    await api.delete(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`);
    await eventually(async () => expect(await names()).not.toContain(plural));
  }),
  row("version and health", async ({ api }) => {
    expect((await api.get("/version")).body).toMatchObject({
      major: "1",
      minor: expect.stringMatching(/^\d+/),
      gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
    });
    for (const path of ["/healthz", "/livez", "/readyz"])
      expect([path, (await api.get(path)).text]).toEqual([path, "ok"]);
  }),
  row("the standard namespaces are there", async ({ api }) => {
    for (const name of ["default", "kube-system", "kube-public"])
      expect((await api.get(`/api/v1/namespaces/${name}`)).status, name).toBe(200);
  }),
  row("a path that means nothing is 404", async ({ api }) => {
    expect((await api.get("/nothing")).status).toBe(404);
    expect((await api.get("/apis/none.example/v1")).status).toBe(404);
  }),
  row("who accepts nothing that the server has is told so", async ({ api }) => {
    const { status } = await api.get(`/apis/${group}/v1/widgets`, { accept: "text/html" });
    expect(status).toBe(406);
    expect(
      (await api.get("/api/v1/namespaces", { accept: "application/vnd.kubernetes.protobuf,application/json" })).status,
    ).toBe(200);
  }),
];
