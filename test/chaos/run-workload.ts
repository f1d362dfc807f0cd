// Performs a load: its lines side by side, each step until it is acknowledged.
import { setTimeout as delay } from "node:timers/promises";
import type { CFRole } from "../../crds/roles.ts";
import type { CfDoor } from "./cf-client.ts";
import type { KubectlDoor } from "./kubectl-client.ts";
import { type Door, type Line, SPACES, type Step } from "./workload.ts";

/** The doors as the people of one run use them. */
export interface People {
  admin: CfDoor;
  /** Has roles in the space `dev` alone, and may lose them for a while. */
  developer: CfDoor;
  kubectl: KubectlDoor;
}

export interface PerformOptions {
  people: People;
  load: readonly Line[];
  /** Whether the pauses between steps are kept. */
  paced: boolean;
  /** After org and spaces are asked for, before anybody goes in. */
  furnish(): Promise<void>;
}

/** Resolves when all of the load is acknowledged. @throws Error that names the step */
export async function perform({ people, load, paced, furnish }: PerformOptions): Promise<void> {
  await people.admin.org();
  await Promise.all(SPACES.map(({ name, by }) => (by === "cf" ? people.admin.space(name) : people.kubectl.space(name))));
  await furnish();
  await Promise.all(load.map((line) => performLine(people, line, paced)));
}

async function performLine(people: People, { space, steps, pauses }: Line, paced: boolean): Promise<void> {
  for (const [at, step] of steps.entries()) {
    if (paced) await delay(pauses[at] ?? 0);
    const started = performance.now();
    await performStep(people, space, step);
    if (process.env["CHAOS_TIMES"] && performance.now() - started > 1500) console.log(`slow ${Math.round(performance.now() - started)} ${JSON.stringify(step)}`);
  }
}

type Deed<K extends Step["do"]> = (step: Extract<Step, { do: K }>, space: string, people: People) => Promise<void>;

/** The developer pushes the first app; whoever may do all does the rest. */
function cfOf(people: People, app: string): CfDoor {
  return app === "cf-one" ? people.developer : people.admin;
}

let restarts = 0;

function act(verb: "start" | "stop" | "restart"): (step: { by: Door; app: string }, space: string, people: People) => Promise<void> {
  // kubectl's restart carries one value for all tries; the CF API makes one each time.
  return ({ by, app }, space, people) => (by === "cf" ? cfOf(people, app).act(space, app, verb) : people.kubectl.act(space, app, verb, String(++restarts)));
}

const DEEDS: { [K in Step["do"]]: Deed<K> } = {
  app: async ({ by, app }, space, people) => {
    await (by === "cf" ? cfOf(people, app).app(space, app) : people.kubectl.app(space, app));
    if (by === "kubectl") await people.kubectl.named(space, app);
  },
  env: ({ app, value }, space, people) => cfOf(people, app).env(space, app, value),
  push: ({ app, image }, space, people) => cfOf(people, app).push(space, app, image),
  route: ({ by, route, app }, space, people) => (by === "cf" ? cfOf(people, app).route(space, route, app) : people.kubectl.route(space, route, app)),
  unmap: ({ by, route }, space, people) => (by === "cf" ? people.admin.unmap(route) : people.kubectl.unmap(space, route)),
  "delete-route": ({ by, route }, space, people) => (by === "cf" ? people.admin.deleteRoute(space, route) : people.kubectl.deleteRoute(space, route)),
  scale: ({ by, app, instances }, space, people) => (by === "cf" ? cfOf(people, app).scale(space, app, { instances }) : people.kubectl.process(space, app, { instances })),
  resize: ({ by, app, memoryMB }, space, people) => (by === "cf" ? cfOf(people, app).scale(space, app, { memory_in_mb: memoryMB }) : people.kubectl.process(space, app, { memoryMB })),
  start: act("start"),
  stop: act("stop"),
  restart: act("restart"),
  delete: ({ by, app }, space, people) => (by === "cf" ? cfOf(people, app).deleteApp(space, app) : people.kubectl.deleteApp(space, app)),
  rename: ({ by, app, to }, space, people) => (by === "cf" ? cfOf(people, app).update(space, app, { name: to }) : people.kubectl.rename(space, app, to)),
  annotate: ({ app, value }, space, people) => people.admin.update(space, app, { metadata: { annotations: { "example.com/said": value } } }),
  taken: ({ by, app }, space, people) => (by === "cf" ? people.admin.taken(space, app) : people.kubectl.taken(space, app)),
  role: ({ user, type }, space, people) => people.admin.role(space, user, type),
  unrole: ({ user, type }, space, people) => people.admin.unrole(space, user, type as CFRole),
  space: ({ by, space }, _space, people) => (by === "cf" ? people.admin.space(space) : people.kubectl.space(space)),
  "delete-space": ({ space }, _space, people) => people.admin.deleteSpace(space),
};

function performStep(people: People, space: string, step: Step): Promise<void> {
  return (DEEDS[step.do] as Deed<Step["do"]>)(step as never, space, people);
}
