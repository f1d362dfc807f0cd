// Rows: create, read, update, patch and delete one object, and what the server answers when it may not be.
import { expect } from "vitest";
import { configMap, configMaps, row, widget, widgets } from "../row.ts";

const failure = (code: number, reason: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  code,
  reason,
});

export const objectRows = [
  row("create sets the server's own fields and ignores a client's values for them", async ({ api, ns }) => {
    const { status, body } = await api.post(
      configMaps(ns),
      configMap(
        "a",
        { k: "v" },
        { uid: "mine", creationTimestamp: "2001-01-01T00:00:00Z", selfLink: "/x", generation: 7 },
      ),
    );
    expect(status).toBe(201);
    expect(body).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { k: "v" },
      metadata: { name: "a", namespace: ns },
    });
    expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(body.metadata.creationTimestamp).toMatch(/^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(body.metadata.creationTimestamp).not.toContain("2001");
    expect(body.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
    expect((await api.get(`${configMaps(ns)}/a`)).body).toEqual(body);
  }),
  row("create with a resourceVersion is refused", async ({ api, ns }) => {
    const { status, body } = await api.post(configMaps(ns), configMap("a", {}, { resourceVersion: "5" }));
    expect(status).toBe(500);
    expect(body.message).toBe("resourceVersion should not be set on objects to be created");
  }),
  row("generateName adds five characters", async ({ api, ns }) => {
    const { status, body } = await api.post(configMaps(ns), {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "gen-" },
    });
    expect(status).toBe(201);
    expect(body.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
  }),
  row("create without a name is invalid", async ({ api, ns }) => {
    const { status, body } = await api.post(configMaps(ns), { apiVersion: "v1", kind: "ConfigMap", metadata: {} });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      ...failure(422, "Invalid"),
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    });
  }),
  row("create of an existing name answers AlreadyExists", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a"));
    const { status, body } = await api.post(configMaps(ns), configMap("a"));
    expect(status).toBe(409);
    expect(body).toEqual({
      ...failure(409, "AlreadyExists"),
      message: 'configmaps "a" already exists',
      details: { name: "a", kind: "configmaps" },
    });
  }),
  row("AlreadyExists of a custom kind names its group", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    const { body } = await api.post(widgets(ns), widget("a"));
    expect(body).toEqual({
      ...failure(409, "AlreadyExists"),
      message: 'widgets.conformance.example "a" already exists',
      details: { name: "a", group: "conformance.example", kind: "widgets" },
    });
  }),
  row("a bad name is invalid, with the rule in the message", async ({ api, ns }) => {
    const { status, body } = await api.post(widgets(ns), widget("Not_Good"));
    expect(status).toBe(422);
    expect(body.details.causes[0]).toMatchObject({ reason: "FieldValueInvalid", field: "metadata.name" });
    expect(body.message).toContain("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters");
  }),
  row("bad label keys and values are invalid", async ({ api, ns }) => {
    const { status, body } = await api.post(widgets(ns), widget("a", {}, { labels: { "ok/key": "not ok!" } }));
    expect(status).toBe(422);
    expect(body.details.causes[0].field).toBe("metadata.labels");
  }),
  row("create in a namespace that does not exist", async ({ api, unique }) => {
    const missing = unique("missing");
    const { status, body } = await api.post(configMaps(missing), configMap("a"));
    expect(status).toBe(404);
    expect(body).toEqual({
      ...failure(404, "NotFound"),
      message: `namespaces "${missing}" not found`,
      details: { name: missing, kind: "namespaces" },
    });
  }),
  row("an object's namespace must equal the request's", async ({ api, ns }) => {
    const { status, body } = await api.post(configMaps(ns), configMap("a", {}, { namespace: "elsewhere" }));
    expect(status).toBe(400);
    expect(body.message).toBe("the namespace of the provided object does not match the namespace sent on the request");
  }),
  row("a body of another kind is refused", async ({ api, ns }) => {
    const { status, body } = await api.post(configMaps(ns), {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a" },
    });
    expect(status).toBe(400);
    expect(body.reason).toBe("BadRequest");
  }),
  row("broken JSON is a bad request", async ({ api, ns }) => {
    const { status, body } = await api.send("POST", configMaps(ns), {
      body: '{"apiVersion": "v1", ',
      headers: { "content-type": "application/json" },
    });
    expect(status).toBe(400);
    expect(body).toMatchObject(failure(400, "BadRequest"));
  }),
  row("YAML bodies are read like JSON", async ({ api, ns }) => {
    const { status, body } = await api.send("POST", configMaps(ns), {
      body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata: {a: 'b'}\n",
      headers: { "content-type": "application/yaml" },
    });
    expect(status).toBe(201);
    expect(body.data).toEqual({ a: "b" });
  }),
  row("another media type is 415", async ({ api, ns }) => {
    const { status, body } = await api.send("POST", configMaps(ns), {
      body: "x",
      headers: { "content-type": "text/plain" },
    });
    expect(status).toBe(415);
    expect(body.reason).toBe("UnsupportedMediaType");
  }),
  row("a body over the limit is refused", async ({ api, ns }) => {
    const { status } = await api.post(configMaps(ns), configMap("big", { k: "x".repeat(4 * 1024 * 1024) }));
    expect(status).toBe(413);
  }),
  row("get of an object that does not exist", async ({ api, ns }) => {
    const { status, body } = await api.get(`${widgets(ns)}/none`);
    expect(status).toBe(404);
    expect(body).toEqual({
      ...failure(404, "NotFound"),
      message: 'widgets.conformance.example "none" not found',
      details: { name: "none", group: "conformance.example", kind: "widgets" },
    });
  }),
  row("an unknown resource is 404 without details", async ({ api, ns }) => {
    const { status, body } = await api.get(`/apis/conformance.example/v1/namespaces/${ns}/nothings`);
    expect(status).toBe(404);
    if (typeof body === "object") expect(body).toMatchObject({ kind: "Status", code: 404 });
    else expect(body).toContain("404 page not found");
  }),
  row("a verb that the resource does not support is 405", async ({ api, ns }) => {
    const { status, body } = await api.put(configMaps(ns), configMap("a"));
    expect(status).toBe(405);
    expect(body.reason).toBe("MethodNotAllowed");
  }),
  row("update replaces, and needs no version", async ({ api, ns }) => {
    const made = (await api.post(configMaps(ns), configMap("a", { k: "v", old: "x" }))).body;
    const { status, body } = await api.put(`${configMaps(ns)}/a`, configMap("a", { k: "w" }));
    expect(status).toBe(200);
    expect(body.data).toEqual({ k: "w" });
    expect(body.metadata.uid).toBe(made.metadata.uid);
    expect(BigInt(body.metadata.resourceVersion)).toBeGreaterThan(BigInt(made.metadata.resourceVersion));
  }),
  row("update of a custom object needs its version", async ({ api, ns }) => {
    await api.post(widgets(ns), widget("a"));
    const { status, body } = await api.put(`${widgets(ns)}/a`, widget("a", { size: 2 }));
    expect(status).toBe(422);
    expect(body.details.causes).toEqual([
      {
        reason: "FieldValueInvalid",
        message: "Invalid value: 0: must be specified for an update",
        field: "metadata.resourceVersion",
      },
    ]);
  }),
  row("update with an old version is a conflict", async ({ api, ns }) => {
    const made = (await api.post(configMaps(ns), configMap("a"))).body;
    await api.put(`${configMaps(ns)}/a`, { ...made, data: { k: "1" } });
    const { status, body } = await api.put(`${configMaps(ns)}/a`, { ...made, data: { k: "2" } });
    expect(status).toBe(409);
    expect(body).toEqual({
      ...failure(409, "Conflict"),
      details: { name: "a", kind: "configmaps" },
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    });
  }),
  row("update with another uid is a conflict", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a"));
    const { status, body } = await api.put(
      `${configMaps(ns)}/a`,
      configMap("a", {}, { uid: "0d7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11" }),
    );
    expect(status).toBe(409);
    expect(body.message).toContain(
      "Precondition failed: UID in precondition: 0d7b6bb8-4c62-4d52-9e8a-3b5c8e0b7a11, UID in object meta: ",
    );
  }),
  row("update with another name is a bad request", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a"));
    const { status, body } = await api.put(`${configMaps(ns)}/a`, configMap("b"));
    expect(status).toBe(400);
    expect(body.message).toBe("the name of the object (b) does not match the name on the URL (a)");
  }),
  row("update of an object that does not exist", async ({ api, ns }) => {
    expect((await api.put(`${widgets(ns)}/a`, widget("a", {}, { resourceVersion: "1" }))).status).toBe(404);
  }),
  row("an update that changes nothing writes nothing", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a", { size: 3 }))).body;
    const { body } = await api.put(`${widgets(ns)}/a`, made);
    expect(body.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  }),
  row("generation counts changes of the spec alone", async ({ api, ns }) => {
    const made = (await api.post(widgets(ns), widget("a"))).body;
    expect(made.metadata.generation).toBe(1);
    expect(
      (await api.patch("merge", `${widgets(ns)}/a`, { metadata: { labels: { x: "y" } } })).body.metadata.generation,
    ).toBe(1);
    expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 2 } })).body.metadata.generation).toBe(2);
    expect(
      (await api.patch("merge", `${widgets(ns)}/a/status`, { status: { replicas: 1 } })).body.metadata.generation,
    ).toBe(2);
  }),
  row("merge patch sets, and null removes", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { k: "v", old: "x" }));
    const { status, body } = await api.patch("merge", `${configMaps(ns)}/a`, {
      data: { old: null, add: "1" },
      metadata: { labels: { l: "1" } },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ data: { k: "v", add: "1" }, metadata: { labels: { l: "1" } } });
    expect(body.data).not.toHaveProperty("old");
  }),
  row("merge patch with an old version is a conflict", async ({ api, ns }) => {
    const made = (await api.post(configMaps(ns), configMap("a"))).body;
    await api.patch("merge", `${configMaps(ns)}/a`, { data: { k: "1" } });
    const { status, body } = await api.patch("merge", `${configMaps(ns)}/a`, {
      metadata: { resourceVersion: made.metadata.resourceVersion },
      data: { k: "2" },
    });
    expect([status, body.reason]).toEqual([409, "Conflict"]);
  }),
  row("merge patch of an object that does not exist", async ({ api, ns }) => {
    expect((await api.patch("merge", `${widgets(ns)}/a`, { spec: { size: 2 } })).status).toBe(404);
  }),
  row("JSON patch: add, remove, replace, move, copy, test", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { one: "1", two: "2" }));
    const { status, body } = await api.patch("json", `${configMaps(ns)}/a`, [
      { op: "test", path: "/data/one", value: "1" },
      { op: "replace", path: "/data/one", value: "uno" },
      { op: "add", path: "/data/a.b", value: "x" },
      { op: "copy", from: "/data/one", path: "/data/copy" },
      { op: "move", from: "/data/two", path: "/data/due" },
    ]);
    expect(status).toBe(200);
    expect(body.data).toEqual({ one: "uno", "a.b": "x", copy: "uno", due: "2" });
  }),
  row("JSON patch: a failed test and a missing path change nothing", async ({ api, ns }) => {
    const made = (await api.post(configMaps(ns), configMap("a", { one: "1" }))).body;
    const failed = await api.patch("json", `${configMaps(ns)}/a`, [
      { op: "replace", path: "/data/one", value: "2" },
      { op: "test", path: "/data/one", value: "3" },
    ]);
    expect([failed.status, failed.body.reason]).toEqual([422, "Invalid"]);
    expect((await api.patch("json", `${configMaps(ns)}/a`, [{ op: "remove", path: "/data/none" }])).status).toBe(422);
    expect((await api.get(`${configMaps(ns)}/a`)).body.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  }),
  row("strategic merge patch is for built-in kinds only", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { k: "v" }));
    expect((await api.patch("strategic", `${configMaps(ns)}/a`, { data: { add: "1" } })).body.data).toEqual({
      k: "v",
      add: "1",
    });
    await api.post(widgets(ns), widget("a"));
    const refused = await api.patch("strategic", `${widgets(ns)}/a`, { spec: { size: 2 } });
    expect([refused.status, refused.body.reason]).toEqual([415, "UnsupportedMediaType"]);
  }),
  row("strategic merge patch merges a Service's ports by their key", async ({ api, ns }) => {
    const path = `/api/v1/namespaces/${ns}/services`;
    const made = await api.post(path, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "s" },
      spec: {
        selector: { a: "b" },
        ports: [
          { name: "one", port: 1 },
          { name: "two", port: 2 },
        ],
      },
    });
    expect(made.status).toBe(201);
    const { body } = await api.patch("strategic", `${path}/s`, { spec: { ports: [{ port: 2, name: "zwei" }] } });
    expect(body.spec.ports.map((p: { name: string; port: number }) => [p.name, p.port]).sort()).toEqual([
      ["one", 1],
      ["zwei", 2],
    ]);
  }),
  row("a dry run answers like a write and stores nothing", async ({ api, ns }) => {
    const created = await api.post(`${widgets(ns)}?dryRun=All`, widget("dry"));
    expect(created.status).toBe(201);
    expect(created.body.spec.size).toBe(1);
    expect((await api.get(`${widgets(ns)}/dry`)).status).toBe(404);
    const real = (await api.post(widgets(ns), widget("real"))).body;
    expect((await api.patch("merge", `${widgets(ns)}/real?dryRun=All`, { spec: { size: 9 } })).body.spec.size).toBe(9);
    expect((await api.delete(`${widgets(ns)}/real?dryRun=All`)).status).toBe(200);
    expect((await api.get(`${widgets(ns)}/real`)).body).toEqual(real);
    expect((await api.post(`${widgets(ns)}?dryRun=Some`, widget("x"))).status).toBe(422);
  }),
  row("fieldValidation: Strict refuses, Warn warns, Ignore is silent", async ({ api, ns }) => {
    const body = (name: string) => widget(name, { sise: 2, nested: { mod: "x" } });
    const strict = await api.post(`${widgets(ns)}?fieldValidation=Strict`, body("a"));
    expect(strict.status).toBe(400);
    expect(strict.body.message).toBe(
      'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nested.mod", unknown field "spec.sise"',
    );
    const warned = await api.post(`${widgets(ns)}?fieldValidation=Warn`, body("a"));
    expect([warned.status, [warned.headers["warning"]].flat().join(", ")]).toEqual([
      201,
      '299 - "unknown field \\"spec.nested.mod\\"", 299 - "unknown field \\"spec.sise\\""',
    ]);
    expect((await api.post(`${widgets(ns)}?fieldValidation=Ignore`, body("b"))).headers["warning"]).toBeUndefined();
  }),
  row("fieldValidation: Strict sees unknown fields of built-in kinds, in patches too", async ({ api, ns }) => {
    const strict = await api.post(`${configMaps(ns)}?fieldValidation=Strict`, { ...configMap("a"), dta: {} });
    expect([strict.status, strict.body.message]).toEqual([
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
    ]);
    await api.post(widgets(ns), widget("a"));
    const patched = await api.patch("merge", `${widgets(ns)}/a?fieldValidation=Strict`, { spec: { sise: 1 } });
    expect([patched.status, patched.body.reason]).toEqual([422, "Invalid"]);
  }),
  row("fieldValidation: Strict refuses a duplicate field", async ({ api, ns }) => {
    const { status, body } = await api.send("POST", `${widgets(ns)}?fieldValidation=Strict`, {
      body: '{"apiVersion":"conformance.example/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":1,"size":2}}',
      headers: { "content-type": "application/json" },
    });
    expect(status).toBe(400);
    expect(body.message).toContain('duplicate field "spec.size"');
  }),
  row("an immutable ConfigMap cannot be changed", async ({ api, ns }) => {
    await api.post(configMaps(ns), { ...configMap("a", { k: "v" }), immutable: true });
    const { status, body } = await api.patch("merge", `${configMaps(ns)}/a`, { data: { k: "w" } });
    expect(status).toBe(422);
    expect(body.message).toContain("field is immutable when `immutable` is set");
    expect((await api.patch("merge", `${configMaps(ns)}/a`, { immutable: false })).status).toBe(422);
    expect((await api.patch("merge", `${configMaps(ns)}/a`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
  }),
  row("a Secret's stringData becomes data, its type never changes", async ({ api, ns }) => {
    const path = `/api/v1/namespaces/${ns}/secrets`;
    const { body } = await api.post(path, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      stringData: { a: "b" },
    });
    expect(body).toMatchObject({ data: { a: "Yg==" }, type: "Opaque" });
    expect(body).not.toHaveProperty("stringData");
    expect((await api.patch("merge", `${path}/s`, { type: "other" })).status).toBe(422);
    expect(
      (await api.post(path, { apiVersion: "v1", kind: "Secret", metadata: { name: "t" }, data: { a: "not base64!" } }))
        .status,
    ).toBe(400);
  }),
  row("of two updates of one version one wins, and the other is a conflict", async ({ api, ns }) => {
    const made = (await api.post(configMaps(ns), configMap("a"))).body;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => api.put(`${configMaps(ns)}/a`, { ...made, data: { writer: String(i) } })),
    );
    expect(answers.map((a) => a.status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  }),
  row("of fifty concurrent creates of one name one succeeds", async ({ api, ns }) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.post(configMaps(ns), configMap("one"))));
    expect(answers.filter((a) => a.status === 201)).toHaveLength(1);
    expect(answers.filter((a) => a.status === 409)).toHaveLength(49);
  }),
  row("twenty concurrent merge patches all take effect", async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a"));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.patch("merge", `${configMaps(ns)}/a`, { data: { [`k${i}`]: "v" } })),
    );
    expect(answers.filter((a) => a.status !== 200)).toEqual([]);
    expect(Object.keys((await api.get(`${configMaps(ns)}/a`)).body.data)).toHaveLength(20);
  }),
];
