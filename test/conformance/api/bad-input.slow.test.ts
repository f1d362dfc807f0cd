// Whatever a client sends, to every endpoint there is: an answer in CF's shape, soon, and never a 500. The endpoints come from the OpenAPI document.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type ApiTestEnv, startApiTestEnv } from "./test-env.ts";

interface Row {
  method: string;
  path: string;
  anonymous: boolean;
  /** Names of the body's top-level fields; undefined when there is no JSON body. */
  fields: string[] | undefined;
  media: string | undefined;
  query: string[];
}

let world: ApiTestEnv;
let rows: Row[] = [];
/** GUIDs of things that exist, by the path segment before them. */
const real: Record<string, string> = {};

beforeAll(async () => {
  world = await startApiTestEnv();
  const { json } = await world.replicas[0].call(undefined, "GET", "/v3/openapi.json");
  rows = Object.entries(json.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toRow(method.toUpperCase(), path, operation)),
  );
  await furnish();
});
afterAll(() => world.stop());

interface Operation {
  "x-permission": string[];
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { properties?: Record<string, unknown> } }> };
}

function toRow(method: string, path: string, operation: Operation): Row {
  const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  return {
    method,
    path,
    anonymous: operation["x-permission"].some((one) => one === "anonymous" || one === "anyone"),
    media,
    fields: media === "application/json" ? Object.keys(content?.schema.properties ?? {}) : undefined,
    query: operation.parameters.filter((one) => one.in === "query").map((one) => one.name),
  };
}

async function furnish(): Promise<void> {
  const make = async (path: string, body: unknown): Promise<string> => {
    const { json, status } = await world.replicas[0].call("admin", "POST", path, body);
    expect([status, json.errors]).toEqual([201, undefined]);
    return json.guid;
  };
  const first = async (path: string): Promise<string> =>
    (await world.replicas[0].call("admin", "GET", path)).json.resources[0].guid;
  const to = (guid: string): object => ({ data: { guid } });
  real["organizations"] = await make("/v3/organizations", { name: "org" });
  real["spaces"] = await make("/v3/spaces", {
    name: "space",
    relationships: { organization: to(real["organizations"]) },
  });
  real["apps"] = await make("/v3/apps", { name: "app", relationships: { space: to(real["spaces"]) } });
  real["processes"] = await first(`/v3/apps/${real["apps"]}/processes`);
  real["packages"] = await make("/v3/packages", { type: "bits", relationships: { app: to(real["apps"]) } });
  real["domains"] = await first("/v3/domains");
  real["routes"] = await make("/v3/routes", {
    host: "x",
    relationships: { space: to(real["spaces"]), domain: to(real["domains"]) },
  });
  for (const kind of ["buildpacks", "stacks", "organization_quotas"]) real[kind] = await first(`/v3/${kind}`);
}

/** The path with what exists in place of its parameters, or with `value`. */
function fill(path: string, value?: string): string {
  return path.replace(
    /([^/]+)\/\{(\w+)\}/g,
    (_all, before: string) => `${before}/${value ?? real[before] ?? (before === "processes" ? "web" : "0")}`,
  );
}

/** UAA and the routing API have shapes of their own for errors: which paths, and the field of the sentence. */
const FOREIGN_SHAPES: readonly [path: RegExp, field: string][] = [
  [/^[A-Z]+ \/(Users|oauth|check_token)\b/, "error_description"],
  [/^[A-Z]+ \/routing\//, "message"],
];

function judge(answer: Answer, what: string): string[] {
  const { status, json } = answer;
  if (status < 400) return status < 300 ? [] : [`${what}: ${status}`];
  if (status < 500 && FOREIGN_SHAPES.some(([path, field]) => path.test(what) && typeof json[field] === "string"))
    return [];
  const errors = json.errors as { code: unknown; title: unknown; detail: unknown }[] | undefined;
  const shaped =
    Array.isArray(errors) &&
    errors.length > 0 &&
    errors.every(
      (one) =>
        Number.isInteger(one.code) &&
        typeof one.title === "string" &&
        typeof one.detail === "string" &&
        one.detail !== "",
    );
  return status >= 500 || !shaped ? [`${what}: ${status} ${JSON.stringify(json).slice(0, 300)}`] : [];
}

/** Sends all, a few at a time, and says what was wrong. `refused`: nothing of this may succeed. */
async function sendAll(
  messages: { row: Row; path: string; body?: unknown; headers?: Record<string, string>; what: string }[],
  refused: boolean,
): Promise<string[]> {
  const faults: string[] = [];
  const queue = [...messages];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { row, path, body, headers = {}, what } = next;
      const name = `${row.method} ${path.slice(0, 120)} ${what}`;
      const answer = await world.replicas[0]
        .send(row.method, path, { body, headers: { authorization: "bearer admin-token", ...headers } })
        .catch((error: unknown) => error as Error);
      if (answer instanceof Error) faults.push(`${name}: ${answer.message} ${String(answer.cause)}`);
      else
        faults.push(
          ...judge(answer, name),
          ...(refused && answer.status < 400 ? [`${name}: ${answer.status}, was to be refused`] : []),
        );
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return faults;
}

const writes = (row: Row): boolean => row.method !== "GET";

test("the list of endpoints is not empty", () => {
  expect(rows.length).toBeGreaterThan(80);
});

test("without a credential nothing but the public documents answers", async () => {
  const answers = await Promise.all(
    rows.map(
      async (row) =>
        [row.path, (await world.replicas[0].send(row.method, fill(row.path), {})).status, row.anonymous] as const,
    ),
  );
  expect(answers.filter(([, status, anonymous]) => (status === 401) === anonymous)).toEqual([]);
});

test.each([
  ["unknown", "01890000-0000-7000-8000-000000000000"],
  ["odd", "..%2F..%2Fetc"],
  ["no escape", "%E0%A4%A"],
  ["long", "x".repeat(5000)],
  ["nul", "%00"],
  ["~", "organization.delete~%25~zz~e30"],
])("%s GUIDs", async (what, guid) => {
  const faults = await sendAll(
    rows.filter((row) => row.path.includes("{")).map((row) => ({ row, path: fill(row.path, guid), what })),
    false,
  );
  expect(faults).toEqual([]);
});

test.each([
  ["broken", "{"],
  ["a list", "[]"],
  ["a string", '"x"'],
  ["null", "null"],
  ["deep", `{"metadata":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`],
  ["not UTF-8", new Uint8Array([123, 34, 255, 34, 58, 49, 125])],
  ["unknown field", '{"bogus":1}'],
  ["prototype", '{"__proto__":{"x":1},"constructor":1}'],
  ["large", `{"name":"${"x".repeat(2 << 20)}"}`],
])("JSON bodies: %s", async (what, body) => {
  const withBody = rows.filter((row) => writes(row) && row.fields !== undefined);
  expect(withBody.length).toBeGreaterThan(20);
  expect(
    await sendAll(
      withBody.map((row) => ({ row, path: fill(row.path), body, what })),
      true,
    ),
  ).toEqual([]);
});

const odd: unknown[] = [
  null,
  1e400,
  -1,
  1.5,
  true,
  "",
  "\u0000",
  "x".repeat(70_000),
  [],
  [[]],
  [null],
  {},
  { data: 1 },
  { data: { guid: 5 } },
  { a: { b: {} } },
];

test("each field of each body with values of other types and sizes", async () => {
  const messages = rows.filter(writes).flatMap((row) =>
    (row.fields ?? []).flatMap((field) =>
      odd.map((value, at) => ({
        row,
        path: fill(row.path),
        body: { [field]: value },
        what: `${field} = odd[${at}]`,
      })),
    ),
  );
  expect(messages.length).toBeGreaterThan(500);
  expect(await sendAll(messages, false)).toEqual([]);
}, 120_000);

test("each query parameter with odd values, and unknown ones", async () => {
  const values = [
    "",
    "x",
    "-1",
    "99999999999999999999",
    "%00",
    "%E0%A4%A",
    "a,b,,c",
    "x".repeat(6000),
    "2020-13-45T00:00:00Z",
    "((",
  ];
  const reads = rows.filter((row) => row.method === "GET");
  const messages = reads.flatMap((row) =>
    [...row.query, "bogus", "created_ats[zip]", "__proto__"].flatMap((name) =>
      values.map((value) => ({ row, path: `${fill(row.path)}?${name}=${value}`, what: "" })),
    ),
  );
  expect(await sendAll(messages, false)).toEqual([]);
}, 120_000);

test.each([
  ["no YAML", ":\n - ["],
  ["a bomb", `a: &a ["x","x"]\nb: &b [*a,*a]\nc: [*b,*b]\napplications: []`],
  ["no applications", "version: 1"],
  ["applications of another type", "applications: {}"],
  ["nameless", "applications: [{}]"],
  [
    "odd members",
    "applications: [{name: a, memory: [1], env: 5, routes: x, processes: [null], instances: -4, services: {}, sidecars: 1, metadata: 3, buildpacks: {a: 1}}]",
  ],
  ["a custom tag", "applications: [!!js/function 'x']"],
  ["JSON", '{"applications": 5}'],
  ["large", `applications: [{name: a, env: {A: "${"x".repeat(2 << 20)}"}}]`],
  ["prototype", "applications: [{name: a, __proto__: {x: 1}, constructor: y}]\n__proto__: 1"],
])("manifests: %s", async (what, body) => {
  const yaml = rows.filter((row) => row.media === "application/x-yaml");
  expect(yaml.length).toBeGreaterThan(0);
  expect(
    await sendAll(
      yaml.map((row) => ({ row, path: fill(row.path), body, headers: { "content-type": "application/x-yaml" }, what })),
      what !== "prototype",
    ),
  ).toEqual([]);
});

test.each([
  ["no multipart", "hello", "text/plain"],
  ["no boundary", "hello", "multipart/form-data"],
  [
    "cut off",
    '--b\r\nContent-Disposition: form-data; name="bits"; filename="a.zip"\r\n\r\nPK',
    "multipart/form-data; boundary=b",
  ],
  [
    "no zip",
    '--b\r\nContent-Disposition: form-data; name="bits"; filename="a.zip"\r\nContent-Type: application/octet-stream\r\n\r\nnope\r\n--b--\r\n',
    "multipart/form-data; boundary=b",
  ],
  [
    "bad resources",
    '--b\r\nContent-Disposition: form-data; name="resources"\r\n\r\n{"a":\r\n--b--\r\n',
    "multipart/form-data; boundary=b",
  ],
  ["nothing in it", "--b--\r\n", "multipart/form-data; boundary=b"],
])("uploads: %s", async (what, body, type) => {
  const uploads = rows.filter((row) => row.media === "multipart/form-data");
  expect(uploads.length).toBeGreaterThan(0);
  expect(
    await sendAll(
      uploads.map((row) => ({ row, path: fill(row.path), body, headers: { "content-type": type }, what })),
      false,
    ),
  ).toEqual([]);
});

test("a body that is no JSON is a parse error, which names nothing of it", async () => {
  const { status, json } = await world.replicas[0].send("POST", "/v3/apps", {
    body: "{",
    headers: { authorization: "bearer admin-token" },
  });
  expect([status, json.errors]).toEqual([
    400,
    [
      {
        code: 1001,
        title: "CF-MessageParseError",
        detail: "Request invalid due to parse error: invalid request body",
      },
    ],
  ]);
});

test("other methods and paths are CF's Unknown request", async () => {
  for (const [method, path] of [
    ["PUT", "/v3/apps"],
    ["GET", "/v2/apps"],
    ["POST", "/"],
    ["DELETE", "/v3"],
    ["OPTIONS", "/v3/apps"],
    ["GET", "/v3/nothing/there"],
  ] as const) {
    const { status, json } = await world.replicas[0].send(method, path, {
      headers: { authorization: "bearer admin-token" },
    });
    const { title, detail } = json.errors?.[0] ?? {};
    expect([method, path, status, title, detail]).toEqual([method, path, 404, "CF-NotFound", "Unknown request"]);
  }
});

test.each([
  ["service_instances", "Service instance"],
  ["service_brokers", "Service broker"],
  ["service_plans", "Service plan"],
])("one of %s by its GUID is not found", async (path, name) => {
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const { status, json } = await world.replicas[0].call("admin", method, `/v3/${path}/x`);
    expect([status, json.errors?.[0]?.detail]).toEqual([404, `${name} not found`]);
  }
});

test("v2 is disabled, which its info says to nobody in particular", async () => {
  const { status, json } = await world.replicas[0].send("GET", "/v2/info", {});
  expect([status, json.support, json.api_version]).toEqual([200, "CF API v2 is disabled", ""]);
});

test.each([
  ["service_offerings", 200],
  ["service_plans", 200],
  ["service_instances", 401],
])("without a login %s answer %d", async (path, status) => {
  expect((await world.replicas[0].send("GET", `/v3/${path}`, {})).status).toBe(status);
});
