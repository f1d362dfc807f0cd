// Messages of `cup` about a rollout.
import { expect, test } from "vitest";
import { describe as describeProgress, tellEnd, type Deployment } from "./deployment.ts";
import type { ProcessState } from "../app/process-state.ts";

const deployment = (reason: string, more: object = {}): Deployment =>
  ({
    guid: "g",
    status: { value: "ACTIVE", reason, details: {}, ...more },
    revision: { version: 4 },
  }) as unknown as Deployment;
const web = (instances: number, ...states: string[]): ProcessState =>
  ({
    process: { type: "web", instances },
    instances: states.map((state, index) => ({ index, state })),
  }) as unknown as ProcessState;
const worker = { ...web(1, "RUNNING"), process: { type: "worker", instances: 1 } } as unknown as ProcessState;
const canary = { canary: { steps: { current: 1, total: 2 } } };

test.each<[string, Deployment, ProcessState[], string]>([
  [
    "both versions",
    deployment("DEPLOYING"),
    [web(2, "RUNNING", "RUNNING"), web(2, "RUNNING", "STARTING"), worker],
    "deploying: old 2/2, new 1/2",
  ],
  ["one version", deployment("DEPLOYED"), [web(3, "RUNNING"), worker], "deployed: 1/3"],
  [
    "a canary",
    deployment("PAUSED", canary),
    [web(1, "RUNNING"), web(1, "RUNNING")],
    "paused (step 1 of 2): old 1/1, new 1/1",
  ],
])("progress: %s", (_what, given, processes, line) => expect(describeProgress(given, processes)).toBe(line));

test.each<[string, Deployment, string[]]>([
  ["done", deployment("DEPLOYED"), ["shop runs revision 4: http://x"]],
  ["canceled", deployment("CANCELED"), ["shop runs the version from before."]],
  [
    "paused",
    deployment("PAUSED", canary),
    ["shop is paused at step 1 of 2.", "Next: cup rollout continue shop, or cup rollout cancel shop"],
  ],
])("the end: %s", (_what, given, lines) => expect(tellEnd(given, "shop", "http://x")).toEqual(lines));
