// Valid manifests, and the errors for invalid ones.
import { expect, test } from "vitest";
import { CFError } from "../http/errors.ts";
import { parseBody } from "../http/validation.ts";
import { manifestBody, parseApplication } from "./schema.ts";

const body = (document: unknown) => manifestBody.safeParse(document);

/** The error texts; "" when the manifest is valid. */
function detailOf(parse: () => unknown): string {
  try {
    parse();
    return "";
  } catch (error) {
    if (error instanceof CFError) return error.message;
    throw error;
  }
}

test("underscores and dashes are equivalent, except inside env, metadata and features", () => {
  const parsed = body({
    applications: [
      {
        name: "a",
        disk_quota: "1G",
        env: { A_B: "1" },
        metadata: { labels: { a_b: "c" } },
        processes: [{ type: "x", health_check_type: "port" }],
      },
    ],
  });
  const { application } = parseApplication(parsed.data?.applications[0], 0);
  expect(application).toMatchObject({
    "disk-quota": 1024,
    env: { A_B: "1" },
    metadata: { labels: { a_b: "c" } },
    processes: [{ "health-check-type": "port" }],
  });
});

const NO_APPLICATIONS = "Cannot parse manifest with no 'applications' field.";
const WRONG_VERSION = "Unsupported manifest schema version. Currently supported versions: [1].";

test.each<[string, unknown, string[]]>([
  ["one application", { applications: [{}] }, []],
  ["version 1", { version: 1, applications: [{}] }, []],
  ["an empty version", { version: null, applications: [{}] }, []],
  ["more than a hundred applications", { applications: Array(150).fill({ name: "a" }) }, []],
  ["version 2", { version: 2, applications: [{}] }, [WRONG_VERSION]],
  ["no applications in the list", { applications: [] }, [NO_APPLICATIONS]],
  ["applications that are no list", { applications: {} }, [NO_APPLICATIONS]],
  ["no applications", {}, [NO_APPLICATIONS]],
])("a manifest with %s", (_what, document, problems) => {
  expect(detailOf(() => parseBody(manifestBody, document))).toEqual(problems.join(", "));
});

test.each<[object, string[]]>([
  [{ name: "a", unknown: 1 }, []],
  [{ name: "" }, ["For application at index 0: Name must not be empty"]],
  [{}, ["For application at index 0: Name must not be empty"]],
  [{ name: 5 }, ["For application at index 0: Name must be a string"]],
  [{ name: "a\u200b" }, ["For application 'a\u200b': Name must not contain control or zero-width characters"]],
  [{ name: "a", memory: "1B" }, [`For application 'a': Process "web": Memory must be greater than 0MB`]],
  [{ name: "a", memory: "5T" }, [`For application 'a': Process "web": Memory must be at most 4194304MB`]],
  [{ name: "a", memory: [] }, [`For application 'a': Process "web": Memory is not a number`]],
  [{ name: "a", command: "" }, [`For application 'a': Process "web": Command must be between 1 and 4096 characters`]],
  [
    { name: "a", processes: [{ type: "worker", command: "", user: "" }] },
    [
      `For application 'a': Process "worker": Command must be between 1 and 4096 characters`,
      `For application 'a': Process "worker": User must be between 1 and 255 characters`,
    ],
  ],
  [
    { name: "a", "health-check-type": "udp" },
    [`For application 'a': Process "web": Health check type must be "port", "process", or "http"`],
  ],
  [
    { name: "a", "health-check-type": "port", "health-check-http-endpoint": "/x" },
    [`For application 'a': Process "web": Health check type must be "http" to set a health check HTTP endpoint`],
  ],
  [
    { name: "a", processes: [{ type: "w", "readiness-health-check-http-endpoint": "x" }] },
    [`For application 'a': Process "w": Readiness health check http endpoint must be a valid URI path`],
  ],
  [
    { name: "a", processes: [{ type: { toString: 1 }, instances: "x" }] },
    [
      "For application 'a': Process \"\": Instances is not a number",
      "For application 'a': All Processes must specify a type",
    ],
  ],
  [{ name: "a", processes: [{ instances: 1 }] }, ["For application 'a': All Processes must specify a type"]],
  [{ name: "a", processes: {} }, ["For application 'a': Processes must be an array of process configurations"]],
  [
    { name: "a", processes: [{ type: "w" }, { type: "w" }] },
    [`For application 'a': Process "w" may only be present once`],
  ],
  [{ name: "a", timeout: 181 }, [`For application 'a': Process "web": Timeout must be less than or equal to 180`]],
  [{ name: "a", "no-route": "yes" }, ["For application 'a': No-route must be a boolean"]],
  [{ name: "a", lifecycle: "x" }, ["For application 'a': Lifecycle must be one of 'buildpack', 'cnb', 'docker'"]],
  [{ name: "a", stack: "" }, ["For application 'a': Stack must be between 1 and 4096 characters"]],
  [{ name: "a", buildpacks: [1] }, ["For application 'a': Buildpacks can only contain strings"]],
  [{ name: "a", buildpacks: [""] }, ["For application 'a': Buildpacks entries must be between 1 and 4096 characters"]],
  [{ name: "a", buildpack: "" }, ["For application 'a': Buildpack must be between 1 and 4096 characters"]],
  [{ name: "a", env: { VCAP_X: "1" } }, ["For application 'a': Env cannot start with VCAP_"]],
  [
    { name: "a", metadata: { labels: { "a b": "c" } } },
    ["For application 'a': Metadata label key error: 'a b' contains invalid characters"],
  ],
  [
    { name: "a", sidecars: [{ name: "s", "process-types": [] }] },
    [
      "For application 'a': Sidecar \"s\": Command can't be blank",
      "For application 'a': Sidecar \"s\": Process types must have at least 1 process_type",
    ],
  ],
  [
    { name: "a", buildpack: "x", buildpacks: ["y"] },
    ["For application 'a': Buildpack and Buildpacks fields cannot be used together."],
  ],
  [
    { name: "a", docker: { image: "x" }, buildpacks: ["y"] },
    ["For application 'a': Cannot specify both buildpack(s) and docker keys"],
  ],
  [{ name: "a", routes: ["x.example"] }, ["For application 'a': Routes must be a list of route objects"]],
  [{ name: "a", routes: [{ route: 5 }] }, ["For application 'a': Routes must be a list of route objects"]],
  [{ name: "a", routes: "x" }, ["For application 'a': Routes must be a list of route objects"]],
  ...[{ ssh: "yes" }, { nope: true }, {}].map((features): [object, string[]] => [
    { name: "a", features },
    [
      "For application 'a': Features must be a map of valid feature names to booleans (true = enabled, false = disabled)",
    ],
  ]),
  [
    { name: "a", routes: [{ route: "x.example", options: { loadbalancing: "hash", hash_header: "X" } }] },
    [
      "For application 'a': Route 'x.example' contains invalid route option 'hash_header'. Valid keys: 'loadbalancing'",
      "For application 'a': Cannot use loadbalancing value 'hash' for Route 'x.example'; Valid values are: 'round-robin, least-connection'",
    ],
  ],
  [
    { name: "a", routes: [{ route: "x.example", options: { loadbalancing: 5 } }] },
    [
      "For application 'a': Invalid value for 'loadbalancing' for Route 'x.example'; Valid values are: 'round-robin, least-connection'",
    ],
  ],
  [
    { name: "a", routes: [{ route: "x.example", options: "fast" }] },
    ["For application 'a': Route 'x.example': options must be an object"],
  ],
  [
    { name: "a", routes: [{ route: "x.example", protocol: "quic" }] },
    ["For application 'a': Route protocol must be 'http1', 'http2' or 'tcp'."],
  ],
])("problems of %j", (entry, problems) => {
  expect(parseApplication(entry, 0).problems).toEqual(problems);
});

test("hash load balancing, where its feature flag is on", () => {
  const problemsOf = (options: object): string[] =>
    parseApplication({ name: "a", routes: [{ route: "x.example", options }] }, 0, { isHashAllowed: true }).problems;
  expect(problemsOf({ loadbalancing: "hash", hash_header: "X", hash_balance: 1.5 })).toEqual([]);
  expect(problemsOf({ loadbalancing: "round-robin", hash_header: "X" })).toEqual([
    "For application 'a': Route 'x.example': Hash header can only be set when loadbalancing is hash",
  ]);
  expect(problemsOf({ header: "X" })).toEqual([
    "For application 'a': Route 'x.example' contains invalid route option 'header'. Valid keys: 'loadbalancing, hash_header, hash_balance'",
  ]);
});

const applied = (app: object) => {
  const parsed = body({ applications: [{ name: "a", ...app }] });
  return parseApplication(parsed.data?.applications[0], 0);
};

test("an attribute without a value is left out, as in CF", () => {
  const empty = { memory: null, disk_quota: "", instances: null, "no-route": null, buildpacks: null, docker: null };
  const { application, problems } = applied({ ...empty, processes: [{ type: "web", timeout: null }] });
  expect(problems).toEqual([]);
  expect(application).toEqual({ name: "a", processes: [{ type: "web" }] });
});

test("a quoted number is a number, as in CF", () => {
  expect(applied({ instances: "2", timeout: "60" })).toEqual({
    application: { name: "a", instances: 2, timeout: 60 },
    problems: [],
  });
  expect(applied({ instances: "two" }).problems).toEqual([
    `For application 'a': Process "web": Instances is not a number`,
  ]);
});

test("a manifest has a bounded number of applications", () => {
  const applications = Array.from({ length: 501 }, (_, at) => ({ name: `a${at}` }));
  expect(body({ applications }).error?.issues[0]?.message).toBe(
    "Applications is too long (maximum is 500 applications)",
  );
  expect(body({ applications: applications.slice(1) }).success).toBe(true);
});

test("the problems of one application are bounded", () => {
  const env = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`VCAP_${at}`, "x"]));
  expect(parseApplication({ name: "a", env }, 0).problems.length).toBeLessThanOrEqual(100);
});
