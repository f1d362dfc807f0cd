// Starts that are rejected because no runner fits.
import { expect, test } from "vitest";
import type { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { Droplet } from "../../../crds/droplet/droplet.ts";
import type { Process } from "../../../crds/process/process.ts";
import { findRunnerProblem } from "./runner-class.ts";

const aClass = (name: string, role: string, dropletKinds?: string): BackendClass =>
  ({
    metadata: { name },
    spec: { role, default: true },
    ...(dropletKinds && { status: { capabilities: { dropletKinds } } }),
  }) as unknown as BackendClass;
const host = aClass("process", "runner", "host");
const images = aClass("deployment", "runner", "docker,cnb");
const aProcess = (runner?: string): Process => ({ spec: { type: "web", runner } }) as unknown as Process;
const image = { spec: { kind: "docker" } } as Droplet;

test("where no runner takes images, the refusal says what to push instead", () => {
  const hint = "No runner here runs images: push the app's source instead";
  expect(findRunnerProblem([aProcess()], image, [host])).toMatch(/\. No runner .* instead, without --docker-image$/);
  const uploaded = { spec: { kind: "cnb" } } as Droplet;
  expect(findRunnerProblem([aProcess()], uploaded, [host])).toMatch(/\. No runner .* instead$/);
  expect(findRunnerProblem([aProcess("process")], image, [host, images])).not.toContain(hint);
});

test.each<[string, BackendClass[], string | undefined, string | undefined]>([
  ["a runner that takes images", [host, images], undefined, undefined],
  ["a class that publishes no kinds", [aClass("new", "runner")], undefined, undefined],
  ["no runner class at all", [aClass("host", "builder")], undefined, undefined],
  [
    "runners that take none",
    [host],
    undefined,
    'Process "web" cannot start: there is no default runner class that takes docker',
  ],
  [
    "a named class that takes none",
    [host, images],
    "process",
    'Process "web" cannot start: the runner class process does not take docker',
  ],
  ["a named class that is missing", [host], "nowhere", 'Process "web" cannot start: there is no runner class nowhere'],
])("an image and %s", (_what, classes, runner, expected) => {
  const problem = findRunnerProblem([aProcess(runner)], image, classes);
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toContain(expected);
});
