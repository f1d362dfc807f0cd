// Audit events show a request without its secrets.
import { expect, test } from "vitest";
import type { ResourceDefinition } from "../../../kube/api/resource.ts";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { Package } from "../../../crds/package/package.ts";
import { Process } from "../../../crds/process/process.ts";
import { makeObject } from "../../../crds/testing/objects.ts";
import { Task } from "../../../crds/task/task.ts";
import { redact, toEventData } from "./redact-request.ts";

const HIDDEN = "[PRIVATE DATA HIDDEN]";

test.each<[body: unknown, shown: unknown]>([
  [{ name: "shop" }, { name: "shop" }],
  [{ var: { KEY: "s3cret" } }, { var: HIDDEN }],
  [
    { environment_variables: { KEY: "s3cret" }, name: "a" },
    { environment_variables: HIDDEN, name: "a" },
  ],
  [
    { data: { image: "i", username: "u", password: "p" } },
    { data: { image: "i", username: HIDDEN, password: HIDDEN } },
  ],
  [{ command: "run --token=s3cret" }, { command: HIDDEN }],
  [{ process_types: { web: "run --token=s3cret" } }, { process_types: HIDDEN }],
  [
    { lifecycle: { data: { buildpacks: ["https://ann:s3cret@example.com/pack", "ruby_buildpack"] } } },
    { lifecycle: { data: { buildpacks: ["https://***:***@example.com/pack", "ruby_buildpack"] } } },
  ],
  [{ applications: [{ env: { A: "s3cret" } }] }, { applications: [{ env: HIDDEN }] }],
  [
    [1, "two", null],
    [1, "two", null],
  ],
])("%j is shown as %j", (body, shown) => {
  expect(redact(body)).toEqual(shown);
});

const appRef = { name: "shop" };
const buildpacks = ["https://ann:s3cret@example.com/pack"];
const sidecars = [{ name: "proxy", command: "proxy --token=s3cret", processTypes: ["web"] }];
test.each<[what: string, kind: ResourceDefinition, spec: object]>([
  ["env", App, { env: [{ name: "KEY", value: "s3cret" }] }],
  ["sidecars", App, { sidecars }],
  ["lifecycle", App, { lifecycle: { type: "buildpack", buildpacks } }],
  ["command", Process, { appRef, command: "run s3cret" }],
  ["command", Task, { appRef, command: "run s3cret" }],
  ["files", Package, { appRef, type: "bits", files: { "app.rb": "KEY = 's3cret'" } }],
  ["image", Package, { appRef, type: "docker", image: "https://ann:s3cret@example.com/i", username: "s3cret" }],
  ["lifecycle", Build, { appRef, packageRef: { name: "p" }, lifecycle: { type: "buildpack", buildpacks } }],
  ["processTypes", Droplet, { appRef, kind: "host", processTypes: { web: "run s3cret" } }],
  ["sidecars", Droplet, { appRef, kind: "host", sidecars }],
  [
    "buildpacks",
    Droplet,
    { appRef, kind: "host", buildpacks: [{ name: buildpacks[0], buildpackName: buildpacks[0] }] },
  ],
])("%s, written by kubectl, shows no secret", (what, kind, spec) => {
  const made = (makeObject(kind, "made", { spec }) as { spec?: Record<string, unknown> }).spec;
  expect(JSON.stringify(made?.[what])).toContain("s3cret");
  expect(JSON.stringify(redact(made))).not.toContain("s3cret");
});

test("deep nesting is cut", () => {
  const deep = JSON.parse('{"a":'.repeat(50) + "1" + "}".repeat(50)) as unknown;
  expect(JSON.stringify(redact(deep)).length).toBeLessThan(100);
});

test("data has a bound: a long request is left out, the rest stays", () => {
  expect(toEventData({})).toBeUndefined();
  expect(toEventData({ package_guid: "G", request: "x".repeat(10_000) })).toBe(
    `{"package_guid":"G","request":"${HIDDEN}"}`,
  );
  expect(toEventData({ other: "x".repeat(10_000) })).toBeUndefined();
});

test.each(["字", '"'])("data has a bound in bytes as they are stored: %s", (character) => {
  expect(toEventData({ package_guid: "G", request: character.repeat(4_000) })).toBe(
    `{"package_guid":"G","request":"${HIDDEN}"}`,
  );
});
