// Hostile requests to each endpoint of the API's own OpenAPI document: bodies, queries and paths that no client means well with. Pure.

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: boolean | Schema;
}

interface Operation {
  security?: object[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
}

export interface Attack {
  what: string;
  method: string;
  path: string;
  body?: string | Buffer;
  contentType?: string;
  headers?: Record<string, string>;
  /** Whether a refusal is the only right answer; otherwise anything but a 5xx is. */
  mustRefuse: boolean;
}

export const UNKNOWN_GUID = "00000000-0000-4000-8000-000000000000";

/** Path parameters that are no GUID, as they are sent. */
const NASTY_PARAMETERS = [
  "..%2f..%2f..%2fetc%2fpasswd",
  "%00",
  "'%20OR%20'1'='1",
  "%F0%9F%92%A5",
  "a".repeat(4000),
  "__proto__",
  "constructor",
  "-1",
  "%0d%0aSet-Cookie:%20a=b",
  "%E0%A4%A",
  "%",
  "*",
];
const NASTY_QUERIES = [
  "nonsense=1",
  "page=0",
  "page=-1",
  "page=1e99",
  "per_page=0",
  "per_page=99999999",
  "per_page=x",
  "order_by=nonsense",
  "label_selector=((",
  "label_selector=a%20in%20(",
  "created_ats[gt]=yesterday",
  "__proto__=1",
  "include=nonsense",
  "guids[]=1",
  "%",
];
/** Queries that a list may well take, as long as it does not fall over: a name of NULs or of a megabyte is just not there. */
const ODD_QUERIES = [
  "page=1&page=2",
  "names=%E0%A4%A",
  "names=%00",
  `names=${"a,".repeat(4000)}`,
  "names=",
  "names=,,,",
  "guids=%F0%9F%92%A5",
  "page=99999",
  "&&&",
  "=",
  "names=__proto__,constructor",
];

const BROKEN_JSON: readonly (readonly [string, string | Buffer])[] = [
  ["a brace", "{"],
  ["a list", "[]"],
  ["a list of objects", "[{}]"],
  ["a string", '"text"'],
  ["null", "null"],
  ["a number", "1e999"],
  ["two documents", "{}{}"],
  ["a trailing comma", '{"name":"a",}'],
  ["XML", "<name>a</name>"],
  ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ["NULs", Buffer.alloc(1000)],
  ["a hundred thousand brackets", `{"name":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ["a hundred thousand open braces", '{"a":'.repeat(100_000)],
  ["two megabytes", JSON.stringify({ name: "a".repeat(2_000_000) })],
];
const UNKNOWN_FIELDS: readonly (readonly [string, string])[] = [
  ["an unknown field", '{"nonsense":1}'],
  ["the prototype", '{"__proto__":{"admin":true}}'],
  ["the constructor", '{"constructor":{"prototype":{"admin":true}}}'],
  [
    "ten thousand unknown fields",
    JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`field${at}`, at]))),
  ],
];
const METADATA: readonly (readonly [string, object])[] = [
  ["a label key with blanks", { labels: { "no good": "x" } }],
  ["a label value too long", { labels: { a: "x".repeat(64) } }],
  ["a label of ours", { labels: { "cupola.dev/guid": UNKNOWN_GUID } }],
  ["a label of CF's", { labels: { "cloudfoundry.org/x": "y" } }],
  ["labels that are a text", { labels: "x" }],
  ["sixty labels", { labels: Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`l${at}`, "x"])) }],
  ["an annotation too long", { annotations: { a: "x".repeat(6000) } }],
  ["an annotation that is an object", { annotations: { a: { b: 1 } } }],
];

/** Every attack on every endpoint. `guidFor` gives the GUID of a real object for a path's first parameter, where there is one. */
export function attacks({ paths }: OpenApi, guidFor: (path: string) => string | undefined): Attack[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) =>
      attacksOn(method.toUpperCase(), path, operation, guidFor(path)),
    ),
  );
}

function attacksOn(method: string, path: string, operation: Operation, guid: string | undefined): Attack[] {
  const fill = (value: string): string =>
    path
      .replace(/\{\w+\}/, value)
      .replace(/\{index\}/, "0")
      .replace(/\{\w+\}/g, "web");
  const known = guid && method !== "DELETE" ? fill(guid) : fill(UNKNOWN_GUID);
  const on = (what: string, at: string, rest: Partial<Attack> = {}): Attack => ({
    what,
    method,
    path: at,
    mustRefuse: true,
    ...rest,
  });
  return [
    ...pathAttacks(path, fill, on),
    ...(method === "GET" ? queryAttacks(operation, known, on) : bodyAttacks(operation, known, on)),
    ...authAttacks(operation, known, on),
  ];
}

type Make = (what: string, path: string, rest?: Partial<Attack>) => Attack;

function pathAttacks(path: string, fill: (value: string) => string, on: Make): Attack[] {
  if (!path.includes("{")) return [];
  // Log Cache answers an empty list for a source that nobody sees, as CF's own does.
  const mustRefuse = path.startsWith("/v3");
  return [UNKNOWN_GUID, ...NASTY_PARAMETERS].map((value) =>
    on(`parameter ${value.slice(0, 40)}`, fill(value), { body: "{}", mustRefuse }),
  );
}

function queryAttacks(operation: Operation, path: string, on: Make): Attack[] {
  const names = (operation.parameters ?? []).filter((parameter) => parameter.in === "query").map(({ name }) => name);
  // Lists of what does not exist here ignore filters: nothing would match.
  const mustRefuse = names.includes("order_by");
  return [
    ...NASTY_QUERIES.map((query) => on(`query ${query}`, `${path}?${query}`, { mustRefuse })),
    ...ODD_QUERIES.map((query) => on(`query ${query.slice(0, 40)}`, `${path}?${query}`, { mustRefuse: false })),
    ...names.map((name) =>
      on(`query ${name} of brackets`, `${path}?${name}=${"(".repeat(5000)}`, { mustRefuse: false }),
    ),
  ];
}

function authAttacks(operation: Operation, path: string, on: Make): Attack[] {
  if (operation.security?.length === 0) return [];
  // Where nobody needs to log in, an empty header is none: stock cf sends one when nobody has.
  const isOptional = operation.security?.some((one) => Object.keys(one).length === 0);
  return [
    ...(isOptional ? [] : [""]),
    "bearer",
    "bearer ",
    "bearer x",
    `bearer ${"x".repeat(12_000)}`,
    "Basic YWRtaW46YWRtaW4=",
    "ClientCert !!!!",
    "ClientCert LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
    "bearer a b",
    "\u00ff\u00ff",
  ].map((authorization) =>
    on(`authorization ${authorization.slice(0, 20)}`, path, { headers: { authorization }, body: "{}" }),
  );
}

function bodyAttacks(operation: Operation, path: string, on: Make): Attack[] {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const mustRefuse = schema !== undefined;
  const json = (what: string, value: object): Attack => on(what, path, { body: JSON.stringify(value), mustRefuse });
  return [
    ...[...BROKEN_JSON, ...UNKNOWN_FIELDS].map(([what, body]) => on(what, path, { body, mustRefuse })),
    on("gzip that is none", path, { body: "{}", headers: { "content-encoding": "gzip" }, mustRefuse: false }),
    ...(schema?.properties?.["metadata"] ? METADATA.map(([what, metadata]) => json(what, { metadata })) : []),
    ...(schema ? wrongTypes(schema).map(([what, value]) => json(`wrong type: ${what}`, value as object)) : []),
  ];
}

const MAX_DEPTH = 4;

/** A body for each property of a schema, with a value there of another type than it takes. */
export function wrongTypes(schema: Schema, depth = 0): [what: string, body: unknown][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const wrong = valueBesides(typesOf(property));
    const here: [string, unknown][] = wrong === undefined ? [] : [[name, { [name]: wrong }]];
    const deeper =
      depth < MAX_DEPTH
        ? wrongTypes(property, depth + 1).map(([what, value]): [string, unknown] => [
            `${name}.${what}`,
            { [name]: value },
          ])
        : [];
    return [...here, ...deeper];
  });
}

/** The JSON types that a schema takes; empty when it takes anything. */
function typesOf(schema: Schema): string[] {
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (variants.length > 0) {
    const each = variants.map(typesOf);
    return each.some((types) => types.length === 0) ? [] : each.flat();
  }
  return schema.type ? [schema.type] : [];
}

function valueBesides(types: string[]): unknown {
  if (types.length === 0) return undefined;
  const values: [string, unknown][] = [
    ["object", { nonsense: { deep: [1] } }],
    ["array", [[{}]]],
    ["number", 12.5],
    ["string", "\u0000text"],
    ["boolean", true],
  ];
  return values.find(([type]) => !types.includes(type) && !(type === "number" && types.includes("integer")))?.[1];
}
