// The wording of an instance's problems: a reason, then a next step, within the bounds of the LRP's status.
import { expect, test } from "vitest";
import {
  describeProblem,
  isStillStarting,
  toExitLine,
  type ExitProblem,
  type InstanceProblem,
} from "./instance-problem.ts";

test.each<[InstanceProblem, string]>([
  [
    { kind: "exited", processType: "web", status: 3 },
    "APP/PROC/WEB: Exited with status 3; cf logs --recent shows its last lines",
  ],
  [
    { kind: "exited", processType: "web", status: 143, signal: "SIGTERM" },
    "APP/PROC/WEB: Exited with status 143 (SIGTERM); cf logs --recent shows its last lines",
  ],
  [
    { kind: "exited", processType: "worker" },
    "APP/PROC/WORKER: Exited with unknown status (the platform restarted while it ran); cf logs --recent shows its last lines",
  ],
  [
    { kind: "secretMissing", variable: "KEY", secret: "keys", key: "user" },
    "Variable KEY needs key user of Secret keys, which does not exist; create it, or change the app's variables and restart it",
  ],
  [
    { kind: "secretMissing", secret: "keys" },
    "The app needs Secret keys, which does not exist; create it, or change the app's variables and restart it",
  ],
  [
    { kind: "imageUnavailable", image: "registry.example/none:1", why: "not found" },
    "Image registry.example/none:1 cannot be pulled: not found; check the image's name and tag and the registry's credentials, then push again",
  ],
])("%o", (problem, text) => expect(describeProblem(problem)).toBe(text));

test("a long reason is cut, and the next step stays", () => {
  const text = describeProblem({ kind: "unhealthy", why: "x".repeat(5000) });
  expect(text).toHaveLength(1024);
  expect(text).toMatch(/x; cf logs --recent shows its last lines$/);
});

test.each<[ExitProblem, string]>([
  [{ kind: "exited", processType: "web", status: 3 }, "Exit status 3"],
  [{ kind: "exited", processType: "web" }, "Exit unknown status (the platform restarted while it ran)"],
  [{ kind: "outOfMemory", processType: "web", memoryMB: 64 }, "Exit status 137 (out of memory)"],
  [{ kind: "diskFull", processType: "web", diskMB: 64 }, "Exit status 137 (disk quota exceeded)"],
])("the log's last line of %o", (problem, line) => expect(toExitLine(problem)).toBe(line));

test.each<[InstanceProblem, boolean]>([
  [{ kind: "notHealthyYet", why: "port 8080: connection refused" }, true],
  [{ kind: "notHealthyYet", why: "it listens on port 3456, not on 8080, the port in PORT" }, false],
  [{ kind: "neverHealthy", seconds: 60, why: "port 8080: connection refused" }, false],
  [{ kind: "unhealthy", why: "port 8080: connection refused" }, false],
])("%o only says that a start goes on: %s", (problem, expected) =>
  expect(isStillStarting(describeProblem(problem))).toBe(expected),
);
