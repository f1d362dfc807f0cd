// Performs a load: its lines side by side, each step until it is acknowledged.
import { setTimeout as delay } from "node:timers/promises";
import type { CFRole } from "../../crds/roles.ts";
import type { CfClient } from "./cf-client.ts";
import type { KubectlClient } from "./kubectl-client.ts";
import { type ClientKind, type StepSequence, SPACES, type Step } from "./workload.ts";

/** The doors as the people of one run use them. */
export interface Clients {
  admin: CfClient;
  /** Has roles in the space `dev` alone, and may lose them for a while. */
  developer: CfClient;
  kubectl: KubectlClient;
}

export interface RunWorkloadOptions {
  clients: Clients;
  sequences: readonly StepSequence[];
  /** Whether the pauses between steps are kept. */
  isPaced: boolean;
  /** After org and spaces are asked for, before anybody goes in. */
  bindRoles(): Promise<void>;
}

/** Resolves when all of the load is acknowledged. @throws Error that names the step */
export async function runWorkload({ clients, sequences, isPaced, bindRoles }: RunWorkloadOptions): Promise<void> {
  await clients.admin.org();
  await Promise.all(
    SPACES.map(({ name, by }) => (by === "cf" ? clients.admin.space(name) : clients.kubectl.space(name))),
  );
  await bindRoles();
  await Promise.all(sequences.map((sequence) => runSequence(clients, sequence, isPaced)));
}

async function runSequence(clients: Clients, { space, steps, pauses }: StepSequence, paced: boolean): Promise<void> {
  for (const [at, step] of steps.entries()) {
    if (paced) await delay(pauses[at] ?? 0);
    const started = performance.now();
    await runStep(clients, space, step);
    if (process.env["CHAOS_TIMES"] && performance.now() - started > 1500)
      console.log(`slow ${Math.round(performance.now() - started)} ${JSON.stringify(step)}`);
  }
}

type StepRunner<K extends Step["do"]> = (
  step: Extract<Step, { do: K }>,
  space: string,
  clients: Clients,
) => Promise<void>;

/** The developer pushes the first app; whoever may do all does the rest. */
function cfClientFor(clients: Clients, app: string): CfClient {
  return app === "cf-one" ? clients.developer : clients.admin;
}

let restarts = 0;

function setState(
  verb: "start" | "stop" | "restart",
): (step: { by: ClientKind; app: string }, space: string, clients: Clients) => Promise<void> {
  // kubectl's restart carries one value for all tries; the CF API makes one each time.
  return ({ by, app }, space, clients) =>
    by === "cf"
      ? cfClientFor(clients, app).act(space, app, verb)
      : clients.kubectl.act(space, app, verb, String(++restarts));
}

const STEP_RUNNERS: { [K in Step["do"]]: StepRunner<K> } = {
  app: async ({ by, app }, space, clients) => {
    await (by === "cf" ? cfClientFor(clients, app).app(space, app) : clients.kubectl.app(space, app));
    if (by === "kubectl") await clients.kubectl.named(space, app);
  },
  env: ({ app, value }, space, clients) => cfClientFor(clients, app).env(space, app, value),
  push: ({ app, image }, space, clients) => cfClientFor(clients, app).push(space, app, image),
  route: ({ by, route, app }, space, clients) =>
    by === "cf" ? cfClientFor(clients, app).route(space, route, app) : clients.kubectl.route(space, route, app),
  unmap: ({ by, route }, space, clients) =>
    by === "cf" ? clients.admin.unmap(route) : clients.kubectl.unmap(space, route),
  "delete-route": ({ by, route }, space, clients) =>
    by === "cf" ? clients.admin.deleteRoute(space, route) : clients.kubectl.deleteRoute(space, route),
  scale: ({ by, app, instances }, space, clients) =>
    by === "cf"
      ? cfClientFor(clients, app).scale(space, app, { instances })
      : clients.kubectl.process(space, app, { instances }),
  resize: ({ by, app, memoryMB }, space, clients) =>
    by === "cf"
      ? cfClientFor(clients, app).scale(space, app, { memory_in_mb: memoryMB })
      : clients.kubectl.process(space, app, { memoryMB }),
  start: setState("start"),
  stop: setState("stop"),
  restart: setState("restart"),
  delete: ({ by, app }, space, clients) =>
    by === "cf" ? cfClientFor(clients, app).deleteApp(space, app) : clients.kubectl.deleteApp(space, app),
  rename: ({ by, app, to }, space, clients) =>
    by === "cf" ? cfClientFor(clients, app).update(space, app, { name: to }) : clients.kubectl.rename(space, app, to),
  annotate: ({ app, value }, space, clients) =>
    clients.admin.update(space, app, { metadata: { annotations: { "example.com/said": value } } }),
  taken: ({ by, app }, space, clients) =>
    by === "cf" ? clients.admin.taken(space, app) : clients.kubectl.taken(space, app),
  role: ({ user, type }, space, clients) => clients.admin.role(space, user, type),
  unrole: ({ user, type }, space, clients) => clients.admin.unrole(space, user, type as CFRole),
  space: ({ by, space }, _space, clients) => (by === "cf" ? clients.admin.space(space) : clients.kubectl.space(space)),
  "delete-space": ({ space }, _space, clients) => clients.admin.deleteSpace(space),
};

function runStep(clients: Clients, space: string, step: Step): Promise<void> {
  return (STEP_RUNNERS[step.do] as StepRunner<Step["do"]>)(step as never, space, clients);
}
