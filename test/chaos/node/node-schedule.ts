// A run of chaos on a node: what a developer does and what is killed meanwhile, all from one number. Pure.
import { randomFrom } from "../../random.ts";
import type { NodePart } from "../../cluster/node/parts.ts";

/** Steps on an app by `cf`. Every step can be repeated until it succeeds. */
export type AppStep =
  | { do: "push" | "restart" | "stop" | "start" | "delete" }
  | { do: "scale"; instances: number }
  | { do: "map" | "unmap"; host: string };

export interface AppPlan {
  app: string;
  steps: readonly AppStep[];
  /** Milliseconds before each step. */
  pauses: readonly number[];
}

/** SIGKILL to a process of the platform, `which` in [0, 1), or to a program of the node, which comes back after `downMs`. */
export type NodeFault = { atMs: number } & ({ what: "platform"; which: number } | { what: NodePart; downMs: number });

export interface NodeSchedule {
  seed: number;
  apps: readonly AppPlan[];
  faults: readonly NodeFault[];
}

/** Expected end state of an app. */
export interface AppEnd {
  app: string;
  exists: boolean;
  /** 0 for a stopped one. */
  instances: number;
  hosts: readonly string[];
}

const LENGTH_MS = 30_000;
const FAULTS = 8;
/** A node that does not answer for longer is given up by Kubernetes after 20 s. */
const MAX_DOWN_MS = 4_000;
export const KILLED_PARTS = [
  "containerd",
  "kubelet",
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
] as const satisfies readonly NodePart[];

/** The schedule of a seed; the same one every time. */
export function planNodeSchedule(seed: number): NodeSchedule {
  const random = randomFrom(seed);
  const apps = ["one", "two"].map((name): AppPlan => {
    const steps = planSteps(`${name}-${seed}`, random);
    return {
      app: `${name}-${seed}`,
      steps,
      pauses: steps.map(() => Math.round((random() * LENGTH_MS) / steps.length)),
    };
  });
  const faults = Array.from({ length: FAULTS }, () => planFault(random)).toSorted((a, b) => a.atMs - b.atMs);
  return { seed, apps, faults };
}

function planFault(random: () => number): NodeFault {
  const atMs = Math.round(random() * LENGTH_MS);
  // Half of all hit the platform itself.
  if (random() < 0.5) return { atMs, what: "platform", which: random() };
  const part = KILLED_PARTS[Math.floor(random() * KILLED_PARTS.length)] ?? "kubelet";
  return { atMs, what: part, downMs: Math.round(random() * MAX_DOWN_MS) };
}

function planSteps(app: string, random: () => number): AppStep[] {
  const one = <T>(choices: readonly [T, ...T[]]): T => choices[Math.floor(random() * choices.length)] ?? choices[0];
  const updates = Array.from({ length: 3 }, () =>
    one<AppStep>([
      { do: "scale", instances: one([1, 2, 3]) },
      { do: "restart" },
      { do: "map", host: `${app}-more` },
      { do: "push" },
    ]),
  );
  const end = one<AppStep[]>([
    [],
    [{ do: "restart" }],
    [{ do: "unmap", host: app }],
    [{ do: "stop" }],
    [{ do: "delete" }],
  ]);
  return [{ do: "push" }, ...updates, ...end];
}

interface Progress {
  exists: boolean;
  started: boolean;
  scale: number;
  hosts: readonly string[];
}

/** End state of a plan, whatever is killed meanwhile. A push of an app that exists keeps its instances. */
export function endOf({ app, steps }: AppPlan): AppEnd {
  const start: Progress = { exists: false, started: false, scale: 1, hosts: [] };
  const { exists, started, scale, hosts } = steps.reduce(
    (end, step) => ({ ...end, ...progress(app, step, end) }),
    start,
  );
  return { app, exists, instances: exists && started ? scale : 0, hosts: exists ? hosts : [] };
}

function progress(app: string, step: AppStep, { hosts }: Progress): Partial<Progress> {
  switch (step.do) {
    case "push":
      return { exists: true, started: true, hosts: [...new Set([...hosts, app])] };
    case "scale":
      return { scale: step.instances };
    case "map":
      return { hosts: [...new Set([...hosts, step.host])] };
    case "unmap":
      return { hosts: hosts.filter((host) => host !== step.host) };
    case "delete":
      return { exists: false };
    default:
      return { started: step.do !== "stop" };
  }
}
