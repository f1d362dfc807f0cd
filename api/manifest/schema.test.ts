// What a manifest may hold, and what is said of the rest.
import { expect, test } from "vitest";
import { manifestBody, parseApplications, toBytesPerSecond, toMegabytes } from "./schema.ts";

test.each<[string, number | undefined]>([
  ["512M", 512],
  ["1g", 1024],
  ["2TB", 2 * 1024 * 1024],
  ["1GiB", 1024],
  ["2048K", 2],
  ["1500KB", 1],
  ["10B", 0],
  ["5", undefined],
  ["1.5G", undefined],
  ["-1M", undefined],
  ["M", undefined],
  ["1P", undefined],
  ["", undefined],
])("%s is %s MB", (text, megabytes) => {
  expect(toMegabytes(text)).toBe(megabytes);
});

test.each<[string, number | undefined]>([
  ["-1", -1],
  ["0", 0],
  ["16K", 16384],
  ["1B", 1],
  ["5", undefined],
  ["-2", undefined],
  ["-1K", undefined],
])("%s is %s bytes a second", (text, bytes) => {
  expect(toBytesPerSecond(text)).toBe(bytes);
});

const body = (document: unknown) => manifestBody.safeParse(document);

test("underscores and dashes are alike, but not inside env, metadata and features", () => {
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
  const { applications } = parseApplications(parsed.data?.applications ?? []);
  expect(applications[0]).toMatchObject({
    "disk-quota": 1024,
    env: { A_B: "1" },
    metadata: { labels: { a_b: "c" } },
    processes: [{ "health-check-type": "port" }],
  });
});

test.each<[unknown, boolean]>([
  [{ applications: [{}] }, true],
  [{ version: 1, applications: [{}] }, true],
  [{ version: 2, applications: [{}] }, false],
  [{ applications: [] }, false],
  [{ applications: {} }, false],
  [{}, false],
  [{ applications: Array(101).fill({ name: "a" }) }, false],
])("envelope %j: %s", (document, accepted) => {
  expect(body(document).success).toBe(accepted);
});

test.each<[object, string[]]>([
  [{ name: "a", unknown: 1 }, []],
  [{ name: "" }, ["For application at index 0: Name can't be blank"]],
  [{ name: "a", memory: "1B" }, ["For application 'a': Memory must be greater than 0MB"]],
  [{ name: "a", memory: "5T" }, ["For application 'a': Memory must be at most 4194304MB"]],
  [
    { name: "a", memory: [] },
    ["For application 'a': Memory must use a supported unit: B, K, KB, M, MB, G, GB, T, or TB"],
  ],
  [{ name: "a", processes: [{ instances: 1 }] }, ["For application 'a': Processes 0.type can't be blank"]],
  [{ name: "a", timeout: 181 }, ["For application 'a': Timeout must be less than or equal to 180"]],
  [{ name: "a", "no-route": "yes" }, ["For application 'a': No route must be a boolean"]],
  [{ name: "a", lifecycle: "x" }, ["For application 'a': Lifecycle must be one of 'buildpack', 'cnb', 'docker'"]],
  [
    { name: "a", metadata: { labels: { "a b": "c" } } },
    ["For application 'a': Metadata labels label key error: 'a b' contains invalid characters"],
  ],
  [{ name: "a", sidecars: [{}] }, ["For application 'a': Sidecars are not served here yet"]],
  [
    { name: "a", buildpack: "x", buildpacks: ["y"] },
    ["For application 'a': Buildpack and Buildpacks fields cannot be used together."],
  ],
  [
    { name: "a", routes: [{ route: "x.example", options: { loadbalancing: "least-connection" } }] },
    ["For application 'a': Options of routes are not supported here yet"],
  ],
])("problems of %j", (entry, problems) => {
  expect(parseApplications([entry]).problems).toEqual(problems);
});
