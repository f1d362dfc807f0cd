// Rows: what generators and caching clients read: OpenAPI v2 and v3 whole, aggregated discovery whole, and answers that need not be sent again.
import { expect } from "vitest";
import type { Api, Json } from "../api.ts";
import { group, row, type Scene } from "../row.ts";

const aggregated = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" };
const root = `/apis/${group}/v1`;
const inNamespace = `${root}/namespaces/{namespace}/widgets`;
const gvk = { group, version: "v1", kind: "Widget" };
const schemaOf = "example.conformance.v1.Widget";
const names = (list: Json[]) => list.map(({ name }) => name).sort();

/** A server publishes a new kind a little later. */
const document = async ({ api, eventually }: Pick<Scene, "api" | "eventually">, path: string): Promise<Json> =>
  await eventually(async () => {
    const { status, body } = await api.get(path);
    expect(status).toBe(200);
    expect(Object.keys(body.paths)).toContain(inNamespace);
    return body;
  });

const address = async (api: Api): Promise<string> =>
  (await api.get("/openapi/v3")).body.paths[`apis/${group}/v1`].serverRelativeURL;

export const openapiRows = [
  row("v3: every path of a kind, each with its methods", async (scene) => {
    const { paths } = await document(scene, `/openapi/v3${root}`);
    const ofWidgets = Object.fromEntries(
      Object.entries<Json>(paths)
        .filter(([path]) => path.includes("/widgets"))
        .map(([path, item]) => [path, Object.keys(item).sort()]),
    );
    expect(ofWidgets).toEqual({
      [inNamespace]: ["delete", "get", "parameters", "post"],
      [`${inNamespace}/{name}`]: ["delete", "get", "parameters", "patch", "put"],
      [`${inNamespace}/{name}/scale`]: ["get", "parameters", "patch", "put"],
      [`${inNamespace}/{name}/status`]: ["get", "parameters", "patch", "put"],
      [`${root}/widgets`]: ["get", "parameters"],
    });
  }),
  row("v3: operations have names, actions, kinds, parameters, bodies and answers", async (scene) => {
    const { paths } = await document(scene, `/openapi/v3${root}`);
    const { post, get, parameters } = paths[inNamespace];
    const one = paths[`${inNamespace}/{name}`];
    expect([
      post.operationId,
      get.operationId,
      one.get.operationId,
      one.put.operationId,
      paths[inNamespace].delete.operationId,
      paths[`${root}/widgets`].get.operationId,
      paths[`${inNamespace}/{name}/status`].patch.operationId,
    ]).toEqual([
      "createConformanceExampleV1NamespacedWidget",
      "listConformanceExampleV1NamespacedWidget",
      "readConformanceExampleV1NamespacedWidget",
      "replaceConformanceExampleV1NamespacedWidget",
      "deleteConformanceExampleV1CollectionNamespacedWidget",
      "listConformanceExampleV1WidgetForAllNamespaces",
      "patchConformanceExampleV1NamespacedWidgetStatus",
    ]);
    expect([post["x-kubernetes-action"], get["x-kubernetes-action"], post["x-kubernetes-group-version-kind"]]).toEqual([
      "post",
      "list",
      gvk,
    ]);
    expect([names(post.parameters), names(parameters), names(one.patch.parameters)]).toEqual([
      ["dryRun", "fieldManager", "fieldValidation"],
      ["namespace", "pretty"],
      ["dryRun", "fieldManager", "fieldValidation", "force"],
    ]);
    expect(names(get.parameters)).toEqual([
      "allowWatchBookmarks",
      "continue",
      "fieldSelector",
      "labelSelector",
      "limit",
      "resourceVersion",
      "resourceVersionMatch",
      "sendInitialEvents",
      "timeoutSeconds",
      "watch",
    ]);
    expect(Object.keys(one.patch.requestBody.content).sort()).toEqual([
      "application/apply-patch+yaml",
      "application/json-patch+json",
      "application/merge-patch+json",
    ]);
    expect(post.requestBody.content["application/json"].schema).toEqual({ $ref: `#/components/schemas/${schemaOf}` });
    expect([Object.keys(post.responses), get.responses[200].content["application/json"].schema]).toEqual([
      ["200", "201", "202", "401"],
      { $ref: `#/components/schemas/${schemaOf}List` },
    ]);
  }),
  row("v3: every schema that a path or a schema refers to is there", async (scene) => {
    const body = await document(scene, `/openapi/v3${root}`);
    const refs = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name!);
    expect(refs.filter((name) => body.components.schemas[name] === undefined)).toEqual([]);
    expect(Object.keys(body.components.schemas)).toEqual(
      expect.arrayContaining([
        schemaOf,
        `${schemaOf}List`,
        "io.k8s.api.autoscaling.v1.Scale",
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
      ]),
    );
    expect(body.components.schemas[`${schemaOf}List`]["x-kubernetes-group-version-kind"]).toEqual([
      { group, version: "v1", kind: "WidgetList" },
    ]);
  }),
  row("v3: a built-in group, with strategic merge patches and merge keys", async ({ api }) => {
    const { body } = await api.get("/openapi/v3/apis/apps/v1");
    expect(
      Object.keys(body.paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"].patch.requestBody.content),
    ).toContain("application/strategic-merge-patch+json");
    expect(body.paths["/apis/apps/v1/namespaces/{namespace}/deployments"].post.operationId).toBe(
      "createAppsV1NamespacedDeployment",
    );
    expect(body.components.schemas["io.k8s.api.core.v1.PodSpec"].properties.containers).toMatchObject({
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
    const rbac = (await api.get("/openapi/v3/apis/rbac.authorization.k8s.io/v1")).body;
    expect(rbac.paths["/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"].get.operationId).toBe(
      "readRbacAuthorizationV1ClusterRole",
    );
  }),
  row(
    "v3: a document by its hash is kept for ever, an old hash leads to the new one, an ETag saves the rest",
    async (scene) => {
      await document(scene, `/openapi/v3${root}`);
      const { api } = scene;
      await scene.eventually(async () => {
        const url = await address(api);
        const { status, headers } = await api.get(url);
        expect([status, headers["cache-control"], headers["etag"]]).toEqual([
          200,
          "public, immutable",
          expect.stringMatching(/^"[0-9A-F]+"$/),
        ]);
        expect((await api.get(url, { "if-none-match": String(headers["etag"]) })).status).toBe(304);
        const old = await api.get(url.replace(/hash=.*/, "hash=ABC"));
        expect([old.status, old.headers["location"]]).toEqual([301, expect.stringContaining(url)]);
        expect((await api.get(url.replace(/\?.*/, ""))).headers["cache-control"]).toBe("no-cache, private");
      });
    },
  ),
  row("v2: paths and definitions of custom and built-in kinds, without what Swagger 2 cannot say", async (scene) => {
    const { swagger, paths, definitions } = await document(scene, "/openapi/v2");
    expect([swagger, Object.keys(paths[inNamespace]).sort()]).toEqual(["2.0", ["delete", "get", "parameters", "post"]]);
    const { post } = paths[inNamespace];
    expect([post.operationId, post.consumes, Object.keys(post.responses), post.responses[201].schema]).toEqual([
      "createConformanceExampleV1NamespacedWidget",
      ["application/json", "application/yaml"],
      ["200", "201", "202", "401"],
      { $ref: `#/definitions/${schemaOf}` },
    ]);
    expect(post.parameters[0]).toEqual({
      name: "body",
      in: "body",
      required: true,
      schema: { $ref: `#/definitions/${schemaOf}` },
    });
    const { properties } = definitions[schemaOf].properties.spec;
    expect([properties.size, properties.target]).toEqual([
      { type: "integer", description: "How large.", minimum: 0 },
      { "x-kubernetes-int-or-string": true },
    ]);
    expect(definitions["io.k8s.api.core.v1.ConfigMap"]["x-kubernetes-group-version-kind"]).toEqual([
      { group: "", version: "v1", kind: "ConfigMap" },
    ]);
    expect(Object.keys(paths)).toContain("/api/v1/namespaces/{namespace}/configmaps/{name}");
  }),
  row("v2 has an ETag", async (scene) => {
    await document(scene, "/openapi/v2");
    await scene.eventually(async () => {
      const { headers } = await scene.api.get("/openapi/v2");
      expect((await scene.api.get("/openapi/v2", { "if-none-match": String(headers["etag"]) })).status).toBe(304);
    });
  }),
  row("aggregated discovery: a whole entry of a custom kind, and of built-in ones", async ({ api }) => {
    const { body } = await api.get("/apis", aggregated);
    const found = body.items.find((item: Json) => item.metadata.name === group);
    const [entry] = found.versions[0].resources.filter(({ resource }: Json) => resource === "widgets");
    expect([found.metadata, found.versions[0].freshness]).toEqual([{ name: group }, "Current"]);
    const sorted = (one: Json) => ({
      ...one,
      verbs: [...one.verbs].sort(),
      ...(one.subresources && {
        subresources: one.subresources.map(sorted).sort((a: Json, b: Json) => (a.subresource < b.subresource ? -1 : 1)),
      }),
    });
    const operations = ["get", "patch", "update"];
    expect(sorted(entry)).toEqual({
      resource: "widgets",
      responseKind: gvk,
      scope: "Namespaced",
      singularResource: "widget",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["wg"],
      categories: ["conformance"],
      subresources: [
        {
          subresource: "scale",
          responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
          verbs: operations,
        },
        { subresource: "status", responseKind: gvk, verbs: operations },
      ],
    });
    const core = (await api.get("/api", aggregated)).body.items[0];
    expect([core.metadata, core.versions[0].version]).toEqual([{}, "v1"]);
    const accounts = core.versions[0].resources.find(({ resource }: Json) => resource === "serviceaccounts");
    expect(accounts).toMatchObject({
      responseKind: { group: "", version: "", kind: "ServiceAccount" },
      shortNames: ["sa"],
      subresources: [
        {
          subresource: "token",
          responseKind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
          verbs: ["create"],
        },
      ],
    });
  }),
  row("aggregated discovery has an ETag and varies by what is accepted", async (scene) => {
    await scene.eventually(async () => {
      const { headers } = await scene.api.get("/apis", aggregated);
      expect([headers["vary"], headers["cache-control"]]).toEqual(["Accept", "public"]);
      expect((await scene.api.get("/apis", { ...aggregated, "if-none-match": String(headers["etag"]) })).status).toBe(
        304,
      );
      expect((await scene.api.get("/apis")).body.kind).toBe("APIGroupList");
    });
  }),
];
