// Rows: refusals: the status, the reason and the words of each, and how large a request may be.
import { expect } from "vitest";
import type { Answer, Api, Json } from "../api.ts";
import { configMap, configMaps, group, row, widget, widgets, type Row } from "../row.ts";

const json = { "content-type": "application/json" };
const body = (code: number, reason: string, message: string, details?: Json) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  ...(reason && { reason }),
  ...(details && { details }),
  code,
});
const nothing = "404 page not found\n";
const notAllowed = body(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});
const noSuchResource = body(404, "NotFound", "the server could not find the requested resource", {});

interface Paths {
  maps: string;
  gadgets: string;
  all: string;
}

/** A request and the whole of its refusal. A ConfigMap and a Widget named `a` are there. */
function refusal(
  name: string,
  send: (api: Api, paths: Paths, ns: string) => Promise<Answer>,
  expected: (ns: string) => Json,
): Row {
  return row(name, async ({ api, ns }) => {
    await api.post(configMaps(ns), configMap("a", { k: "v" }));
    await api.post(widgets(ns), widget("a"));
    const { status, body: responseBody } = await send(
      api,
      { maps: configMaps(ns), gadgets: widgets(ns), all: `/apis/${group}/v1/widgets` },
      ns,
    );
    const wanted = expected(ns);
    expect(responseBody).toEqual(wanted);
    expect(status).toBe(typeof wanted === "string" ? 404 : wanted.code);
  });
}

function options(kind: string, causes: Json[], code = 422) {
  const lines = causes.map((cause) => `${cause.field}: ${cause.message}`);
  return body(
    code,
    "Invalid",
    `${kind}.meta.k8s.io "" is invalid: ${lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`}`,
    { group: "meta.k8s.io", kind, causes },
  );
}

const match = "resourceVersionMatch";
const forbidden = (field: string, message: string) => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden: ${message}`,
});
const unsupported = (field: string, value: string, supported: string) => ({
  reason: "FieldValueNotSupported",
  field,
  message: `Unsupported value: "${value}": supported values: ${supported}`,
});
const unread = (kind: string, text: string) =>
  body(
    400,
    "BadRequest",
    `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: unexpected end of JSON input (${text})`,
  );

export const errorRows = [
  refusal(
    "PUT of a collection is no method of a built-in kind",
    (api, { maps }) => api.put(maps, configMap("x")),
    () => notAllowed,
  ),
  refusal(
    "PUT of a collection of custom objects lacks a name",
    (api, { gadgets }) => api.put(gadgets, widget("x")),
    () => body(400, "BadRequest", "name must be provided"),
  ),
  refusal(
    "a patch of a collection of custom objects lacks a name",
    (api, { gadgets }) => api.patch("merge", gadgets, {}),
    () => body(400, "BadRequest", "name must be provided"),
  ),
  refusal(
    "POST to a name is no method of a built-in kind",
    (api, { maps }) => api.post(`${maps}/a`, configMap("a")),
    () => notAllowed,
  ),
  refusal(
    "POST without a namespace is no method of a built-in kind",
    (api) => api.post("/api/v1/configmaps", configMap("x")),
    () => notAllowed,
  ),
  refusal(
    "DELETE over all namespaces is no method",
    (api) => api.delete("/api/v1/configmaps"),
    () => notAllowed,
  ),
  refusal(
    "POST of a custom object without a namespace is 404",
    (api, { all }) => api.post(all, widget("x")),
    () => nothing,
  ),
  refusal(
    "GET of a custom object without its namespace is 404",
    (api, { all }) => api.get(`${all}/a`),
    () => nothing,
  ),
  refusal(
    "GET of a built-in object without its namespace is 404",
    (api) => api.get("/api/v1/configmaps/a"),
    () => noSuchResource,
  ),
  refusal(
    "an unknown resource of a built-in group",
    (api, _, ns) => api.get(`/api/v1/namespaces/${ns}/nothings`),
    () => noSuchResource,
  ),
  refusal(
    "an unknown resource of a custom group",
    (api) => api.get(`/apis/${group}/v1/nothings`),
    () => nothing,
  ),
  refusal(
    "an unknown version of a group",
    (api) => api.get(`/apis/${group}/v9/widgets`),
    () => nothing,
  ),
  refusal(
    "an unknown group",
    (api) => api.get("/apis/nothing.example/v1/things"),
    () => nothing,
  ),
  refusal(
    "an unknown subresource of a custom kind",
    (api, { gadgets }) => api.get(`${gadgets}/a/none`),
    () => body(404, "NotFound", 'widgets.conformance.example "a" not found', { name: "a", group, kind: "widgets" }),
  ),
  refusal(
    "an unknown subresource of a built-in kind",
    (api, { maps }) => api.get(`${maps}/a/scale`),
    () => noSuchResource,
  ),
  refusal(
    "an unknown method of a custom subresource",
    (api, { gadgets }) => api.delete(`${gadgets}/a/status`),
    () =>
      body(405, "MethodNotAllowed", 'delete is not supported on resources of kind "widgets.conformance.example"', {
        group,
        kind: "widgets",
      }),
  ),
  refusal(
    "a review can only be created",
    (api) => api.get("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    () => notAllowed,
  ),
  refusal(
    "a body of another media type",
    (api, { maps }) => api.send("POST", maps, { body: "x", headers: { "content-type": "text/plain" } }),
    () =>
      body(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      ),
  ),
  refusal(
    "delete options of another media type",
    (api, { gadgets }) => api.send("DELETE", `${gadgets}/a`, { body: "x", headers: { "content-type": "text/plain" } }),
    () =>
      body(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
      ),
  ),
  refusal(
    "a strategic merge patch of a custom object",
    (api, { gadgets }) => api.patch("strategic", `${gadgets}/a`, {}),
    () =>
      body(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
      ),
  ),
  refusal(
    "a truncated body",
    (api, { maps }) => api.send("POST", maps, { body: '{"a":', headers: json }),
    () => unread("ConfigMap", '{"a":'),
  ),
  refusal(
    "a truncated body of a custom object",
    (api, { gadgets }) => api.send("PUT", `${gadgets}/a`, { body: '{"a":', headers: json }),
    () => unread("Widget", '{"a":'),
  ),
  refusal(
    "no body",
    (api, { gadgets }) => api.send("POST", gadgets, { body: "", headers: json }),
    () => unread("Widget", "<empty>"),
  ),
  refusal(
    "a truncated merge patch",
    (api, { maps }) =>
      api.send("PATCH", `${maps}/a`, { body: '{"a":', headers: { "content-type": "application/merge-patch+json" } }),
    () => body(400, "BadRequest", "error decoding patch: unexpected end of JSON input"),
  ),
  refusal(
    "a limit that is not a number",
    (api, { maps }) => api.get(`${maps}?limit=x`),
    () => body(400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax'),
  ),
  refusal(
    "a limit of a deletion that is not a number",
    (api, { maps }) => api.delete(`${maps}?limit=x`),
    () => body(400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax'),
  ),
  refusal(
    "a resourceVersion of a list that is not a number",
    (api, { maps }) => api.get(`${maps}?resourceVersion=x`),
    () =>
      body(
        400,
        "BadRequest",
        'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
      ),
  ),
  refusal(
    "a resourceVersion of a get that is not a number",
    (api, { maps }) => api.get(`${maps}/a?resourceVersion=x`),
    () => body(500, "", 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'),
  ),
  refusal(
    "a resourceVersionMatch without a version",
    (api, { maps }) => api.get(`${maps}?${match}=Exact`),
    () =>
      options("ListOptions", [
        forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided"),
      ]),
  ),
  refusal(
    "an invalid resourceVersionMatch",
    (api, { maps }) => api.get(`${maps}?${match}=Some&resourceVersion=1`),
    () => options("ListOptions", [unsupported(match, "Some", '"Exact", "NotOlderThan", ""')]),
  ),
  refusal(
    "resourceVersionMatch=Exact without an exact version",
    (api, { maps }) => api.get(`${maps}?${match}=Exact&resourceVersion=0`),
    () =>
      options("ListOptions", [forbidden(match, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]),
  ),
  refusal(
    "sendInitialEvents of a list",
    (api, { maps }) => api.get(`${maps}?sendInitialEvents=true`),
    () => options("ListOptions", [forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")]),
  ),
  refusal(
    "initial events without a version match",
    (api, { maps }) => api.get(`${maps}?watch=true&sendInitialEvents=true`),
    () =>
      options("ListOptions", [
        forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
      ]),
  ),
  refusal(
    "a version match of a watch",
    (api, { maps }) => api.get(`${maps}?watch=true&${match}=Exact&resourceVersion=1`),
    () =>
      options("ListOptions", [
        forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
        unsupported(match, "Exact", '"NotOlderThan"'),
      ]),
  ),
  refusal(
    "an invalid value of dryRun",
    (api, { maps }) => api.post(`${maps}?dryRun=Some`, configMap("x")),
    () =>
      options("CreateOptions", [
        {
          reason: "FieldValueNotSupported",
          field: "dryRun",
          message: 'Unsupported value: ["Some"]: supported values: "All"',
        },
      ]),
  ),
  refusal(
    "a field manager that is too long",
    (api, { maps }) => api.post(`${maps}?fieldManager=${"x".repeat(129)}`, configMap("x")),
    () =>
      options("CreateOptions", [
        { reason: "FieldValueTooLong", field: "fieldManager", message: "Too long: may not be more than 128 bytes" },
      ]),
  ),
  refusal(
    "a deletion of two minds",
    (api, { maps }) =>
      api.delete(`${maps}/a`, {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Orphan",
        orphanDependents: true,
      }),
    () =>
      options("DeleteOptions", [
        {
          reason: "FieldValueInvalid",
          field: "propagationPolicy",
          message: 'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        },
      ]),
  ),
  row("how large: a request 3 MiB, an object 1.5 MiB, a ConfigMap 1 MiB, annotations 256 KiB", async ({ api, ns }) => {
    const text = (length: number) => "x".repeat(length);
    const brief = ({ status, body: responseBody }: Answer) => [status, responseBody.reason, responseBody.message];
    expect(brief(await api.post(configMaps(ns), configMap("x", { a: text(3_200_000) })))).toEqual([
      413,
      "RequestEntityTooLarge",
      "Request entity too large: limit is 3145728",
    ]);
    expect(brief(await api.post(widgets(ns), widget("x", { free: { a: text(1_600_000) } })))).toEqual([
      500,
      undefined,
      "etcdserver: request is too large",
    ]);
    expect(brief(await api.post(configMaps(ns), configMap("x", { a: text(1_048_577) })))).toEqual([
      422,
      "Invalid",
      'ConfigMap "x" is invalid: []: Too long: may not be more than 1048576 bytes',
    ]);
    expect(brief(await api.post(configMaps(ns), configMap("x", {}, { annotations: { a: text(262_144) } })))).toEqual([
      422,
      "Invalid",
      'ConfigMap "x" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes',
    ]);
    expect((await api.post(widgets(ns), widget("x", { free: { a: text(1_400_000) } }))).status).toBe(201);
    const patched = await api.patch("merge", `${widgets(ns)}/x`, { spec: { free: { b: text(400_000) } } });
    expect([patched.status, patched.body.message]).toEqual([500, "etcdserver: request is too large"]);
  }),
];
