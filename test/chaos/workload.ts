// Actions of people in a run, as lines of steps that go on side by side. Pure: the same seed gives the same load.

/** Action of a step. Every step can be repeated until it is acknowledged, so the end of a load does not depend on what failed on the way. */
export type Step =
  | { do: "app"; by: ClientKind; app: string }
  | { do: "env"; app: string; value: string }
  | { do: "push"; app: string; image: string }
  | { do: "route"; by: ClientKind; route: string; app: string }
  | { do: "unmap"; by: ClientKind; route: string }
  | { do: "delete-route"; by: ClientKind; route: string }
  | { do: "scale"; by: ClientKind; app: string; instances: number }
  | { do: "resize"; by: ClientKind; app: string; memoryMB: number }
  | { do: "start"; by: ClientKind; app: string }
  | { do: "stop"; by: ClientKind; app: string }
  | { do: "restart"; by: ClientKind; app: string }
  | { do: "delete"; by: ClientKind; app: string }
  | { do: "rename"; by: ClientKind; app: string; to: string }
  | { do: "annotate"; app: string; value: string }
  | { do: "taken"; by: ClientKind; app: string }
  | { do: "role"; user: string; type: string }
  | { do: "unrole"; user: string; type: string }
  | { do: "space"; by: ClientKind; space: string }
  | { do: "delete-space"; space: string };

/** Actor: the CF API's client, or somebody with kubectl. */
export type ClientKind = "cf" | "kubectl";

/** Steps of one person, one after the other, in one space of the run. */
export interface StepSequence {
  /** `dev` or `ops`: see perform.ts. */
  space: string;
  /** Milliseconds before each step, where faults are about. */
  pauses: readonly number[];
  steps: readonly Step[];
}

/** Every run has this org with these spaces. */
export const ORG = "org";
export const SPACES: readonly { name: string; by: ClientKind }[] = [
  { name: "dev", by: "cf" },
  { name: "ops", by: "kubectl" },
];

type Random = () => number;

/** The lines of one run, spread over about `lengthMs`. */
export function planWorkload(random: Random, lengthMs: number): StepSequence[] {
  const one = <T>(choices: readonly [T, ...T[]]): T => choices[Math.floor(random() * choices.length)] ?? choices[0];
  const plans: { space: string; steps: Step[] }[] = [
    ...["cf-one", "cf-two"].map((app) => ({ space: "dev", steps: planApp("cf", app, one, random) })),
    ...["kube-one", "kube-two"].map((app) => ({ space: "ops", steps: planApp("kubectl", app, one, random) })),
    { space: one(["dev", "ops"]), steps: planNameConflict(one) },
    { space: "dev", steps: planRoles(one) },
    { space: "dev", steps: planSpaces(one) },
  ];
  return plans.map(({ space, steps }) => ({ space, steps, pauses: spread(steps.length, lengthMs, random) }));
}

type PickOne = <T>(choices: readonly [T, ...T[]]) => T;

/** From nothing to running, and then whatever comes to somebody's mind. */
function planApp(by: ClientKind, app: string, one: PickOne, random: Random): Step[] {
  const creation: Step[] = [
    { do: "app", by, app },
    ...(by === "cf" && random() < 0.7 ? [{ do: "env", app, value: "first" } as const] : []),
    ...(by === "cf" ? [{ do: "push", app, image: "example.com/image:1" } as const] : []),
    { do: "route", by, route: app, app },
    { do: "resize", by, app, memoryMB: one([64, 96, 128]) },
    { do: "start", by, app },
  ];
  const updates = Array.from({ length: 3 + Math.floor(random() * 4) }, () => planUpdate({ by, app, one }));
  return [...creation, ...updates, ...planDelete(by, app, one)];
}

function planUpdate({ by, app, one }: { by: ClientKind; app: string; one: PickOne }): Step {
  const choices: [Step, ...Step[]] = [
    { do: "scale", by, app, instances: one([0, 1, 2, 3]) },
    { do: "scale", by, app, instances: one([1, 2]) },
    { do: "restart", by, app },
    { do: "rename", by, app, to: `${app}-${one(["a", "b", "c"])}` },
    { do: "stop", by, app },
    { do: "start", by, app },
    { do: "route", by, route: `${app}-more`, app },
    { do: "unmap", by, route: app },
    { do: "annotate", app, value: one(["one", "two", "three"]) },
  ];
  return one(choices);
}

/** Settles what a snapshot holds, or ends the app. */
function planDelete(by: ClientKind, app: string, one: PickOne): Step[] {
  const restarted: Step[] = [
    { do: "resize", by, app, memoryMB: one([160, 192]) },
    { do: "restart", by, app },
  ];
  return one<Step[]>([
    restarted,
    restarted,
    [{ do: "stop", by, app }],
    [{ do: "delete", by, app }],
    [
      { do: "delete-route", by, route: app },
      { do: "delete", by, app },
    ],
    [],
  ]);
}

/** Somebody has the name; nobody else gets it, whichever door they try. */
function planNameConflict(one: PickOne): Step[] {
  return [
    { do: "app", by: one(["cf", "kubectl"]), app: "holder" },
    { do: "taken", by: "cf", app: "holder" },
    { do: "taken", by: "kubectl", app: "holder" },
  ];
}

function planRoles(one: PickOne): Step[] {
  const given: Step[] = ["organization_user", "space_auditor", "space_manager"].map((type) => ({
    do: "role",
    user: "guest",
    type,
  }));
  return [
    ...given,
    ...one<Step[]>([
      [],
      [{ do: "unrole", user: "guest", type: "space_manager" }],
      [{ do: "unrole", user: "guest", type: "space_auditor" }],
    ]),
  ];
}

function planSpaces(one: PickOne): Step[] {
  const by = one<ClientKind>(["cf", "kubectl"]);
  return [{ do: "space", by, space: "more" }, ...one<Step[]>([[], [{ do: "delete-space", space: "more" }]])];
}

function spread(count: number, lengthMs: number, random: Random): number[] {
  const shares = Array.from({ length: count }, () => random());
  const total = shares.reduce((sum, share) => sum + share, 0.5);
  return shares.map((share) => Math.round((share / total) * lengthMs));
}
