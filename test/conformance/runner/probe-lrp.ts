// LRPs of the probe app, as the rows see them: made, changed, asked and deleted by name.
import { expect } from "vitest";
import { LABELS } from "../../../crds/labels.ts";
import { LRP, type LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { Condition } from "../../../kube/api/object.ts";
import { eventually } from "../../eventually.ts";
import type { RunnerEnvironment } from "./environment.ts";

/** The port that LRPs declare, unless a row says otherwise. */
export const PORT = 8080;

export interface ProbeLRP {
  name: string;
  get(): Promise<LRP>;
  /** Merges into the spec. */
  change(spec: object): Promise<void>;
  delete(): Promise<void>;
  isGone(): Promise<boolean>;
  /** Waits until `check` does not throw. */
  until<T>(check: (lrp: LRP) => T | Promise<T>): Promise<T>;
  /** Waits until the instance is Running and ready. */
  running(index?: number): Promise<LrpInstance>;
  /** Waits until the instance is in this state, and returns it. */
  inState(state: LrpInstance["state"], index?: number): Promise<LrpInstance>;
  /** The probe's answer. Rejects when the instance is not there or does not answer. */
  ask<T>(index: number, path: string, port?: number): Promise<T>;
  /** Identity of this start of the instance. */
  boot(index?: number): Promise<string>;
}

/** The spec of every LRP of the suite, before a row changes it. */
function toSpec(env: RunnerEnvironment, name: string, change: object): object {
  return {
    class: env.className,
    rendering: "1",
    app: { guid: `app-${name}`, name },
    space: env.space,
    org: { guid: "org-guid", name: "org" },
    processGUID: `app-${name}`,
    processType: "web",
    revision: "1",
    version: `version-${name}`,
    droplet: env.droplet,
    command: env.command,
    env: [],
    ports: [PORT],
    instances: 1,
    memoryMB: 128,
    diskMB: 256,
    logRateLimitBytesPerSecond: -1,
    healthCheck: { type: "port" },
    readinessHealthCheck: { type: "process" },
    ...change,
  };
}

/** Creates an LRP of the probe app, labelled as the platform labels its own. */
export async function createProbe(env: RunnerEnvironment, name: string, spec: object = {}): Promise<ProbeLRP> {
  const { client, namespace } = env;
  await client.create(LRP, {
    metadata: {
      name,
      namespace,
      labels: {
        [LABELS.guid]: `version-${name}`,
        [LABELS.app]: `app-${name}`,
        [LABELS.process]: `app-${name}`,
        [LABELS.processType]: "web",
        [LABELS.space]: env.space.guid,
        [LABELS.org]: "org-guid",
        [LABELS.revision]: "1",
        [LABELS.sourceType]: "APP",
      },
    },
    spec: toSpec(env, name, spec),
  });
  return probeLRP(env, name);
}

function probeLRP(env: RunnerEnvironment, name: string): ProbeLRP {
  const { client, namespace, patience } = env;
  const key = { namespace, name };
  const get = (): Promise<LRP> => client.get(LRP, key);
  const until: ProbeLRP["until"] = (check) => eventually(async () => check(await get()), patience);
  const inState = (index: number, want: object): Promise<LrpInstance> =>
    until((lrp) => {
      const instance = instanceOf(lrp, index);
      expect(instance, JSON.stringify(lrp.status)).toMatchObject(want);
      return instance;
    });
  const ask = async <T>(index: number, path: string, port = PORT): Promise<T> => {
    const answer = await env.request(instanceOf(await get(), index), port, path);
    if (answer.status !== 200) throw new Error(`${path} of instance ${index} answers ${answer.status}`);
    return JSON.parse(answer.body) as T;
  };
  return {
    name,
    get,
    until,
    async change(spec) {
      await client.patch(LRP, key, { type: "merge", body: { spec } });
    },
    async delete() {
      await client.delete(LRP, key);
    },
    isGone: async () => (await client.find(LRP, key)) === undefined,
    running: (index = 0) => inState(index, { state: "Running", ready: true }),
    inState: (state, index = 0) => inState(index, { state }),
    ask,
    boot: async (index = 0) => (await ask<{ boot: string }>(index, "/state")).boot,
  };
}

/** @throws Error when the status has no such instance */
export function instanceOf(lrp: LRP, index: number): LrpInstance {
  const found = lrp.status?.instances?.find((instance) => instance.index === index);
  if (!found) throw new Error(`the status has no instance ${index}: ${JSON.stringify(lrp.status)}`);
  return found;
}

/** The indexes in the status, in its order. */
export function indexesOf(lrp: LRP): number[] {
  return (lrp.status?.instances ?? []).map(({ index }) => index);
}

export function readyOf(lrp: LRP): Condition | undefined {
  return lrp.status?.conditions?.find(({ type }) => type === "Ready");
}
