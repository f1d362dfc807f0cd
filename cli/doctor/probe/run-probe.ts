// Starts the pods of a probe in cupola-system, waits for their last messages, and removes them.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { NetworkPolicy, Pod, type Deployment } from "../../../kube/api/builtin.ts";
import { parseJson } from "../../../kube/api/parse-json.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import type { ObjectOf, ResourceRef } from "../../../kube/api/resource-ref.ts";
import { ignoreGone } from "../../../kube/client/ignore-gone.ts";
import { networkOutcome, registryOutcome } from "../../../platform/probe/outcome.ts";
import type { FactReader } from "../fact-reader.ts";
import type { Facts } from "../facts.ts";
import { CouldNotLook } from "../finding.ts";
import { POD_DEADLINE_MS } from "./duration.ts";
import {
  hasEnded,
  messageOf,
  PROBE_LABEL,
  PROBE_PORTS,
  registryOf,
  stateOf,
  toProbePod,
  toProbePolicy,
  type ProbePod,
} from "./probe-pods.ts";

type DeploymentObject = ObjectOf<typeof Deployment>;
type PodObject = ObjectOf<typeof Pod>;

const POLL_MS = 500;
/** A killed command leaves its pods: those older than this. */
const LEFT_MS = 600_000;

/** Undefined without a registry. @throws CouldNotLook */
export async function probeRegistry(
  reader: FactReader,
  deployments: readonly DeploymentObject[],
): Promise<Facts["registryProbe"]> {
  const controllers = findControllers(deployments);
  const registry = registryOf(controllers);
  if (!registry) return undefined;
  const builderImageName = builderImageOf(await reader.list(BackendClass));
  const outcome = await runProbe(reader, controllers, async (probe) => {
    const image = builderImageName === undefined ? [] : [`--builder-image=${builderImageName}`];
    const pod = await probe.start("registry", [`--id=${probe.id}`, ...registry.args, ...image]);
    return probe.outcomeOf(pod, registryOutcome);
  });
  return { ...outcome, registryName: registry.name, ...(builderImageName !== undefined && { builderImageName }) };
}

/** @throws CouldNotLook */
export async function probeNetwork(
  reader: FactReader,
  deployments: readonly DeploymentObject[],
): Promise<Facts["networkProbe"]> {
  const outcome = await runProbe(reader, findControllers(deployments), async (probe) => {
    const { open, closed } = PROBE_PORTS;
    await probe.create(NetworkPolicy, toProbePolicy(probe.id));
    const listening = await probe.start("listen", [`--ports=${open},${closed}`]);
    const { status } = await probe.until(listening, ({ status: now }) => now?.phase === "Running" && !!now.podIP);
    const args = [`--host=${status?.podIP ?? ""}`, `--open=${open}`, `--closed=${closed}`];
    return probe.outcomeOf(await probe.start("reach", args), networkOutcome);
  });
  if (!outcome.isOpenReached)
    throw new CouldNotLook("a pod of the probe does not reach another one at a port that is open");
  return { isEnforced: !outcome.isClosedReached };
}

function findControllers(deployments: readonly DeploymentObject[]): DeploymentObject {
  const found = deployments.find(({ metadata }) => metadata.name === "cupola-controllers");
  if (!found) throw new CouldNotLook("there is no Deployment cupola-controllers, whose image a probe needs");
  return found;
}

function builderImageOf(classes: readonly BackendClass[]): string | undefined {
  return classes.find(({ metadata, spec }) => metadata.name === "cnb" && spec.role === "builder")?.spec.parameters?.[
    "builderImage"
  ];
}

interface Probe {
  id: string;
  create<T extends KubeObject>(ref: ResourceRef<T>, object: T): Promise<T>;
  start(role: ProbePod["role"], args: readonly string[]): Promise<PodObject>;
  /** @throws CouldNotLook at the deadline, or when the pod ended without it */
  until(pod: PodObject, isThere: (pod: PodObject) => boolean): Promise<PodObject>;
  outcomeOf<T>(pod: PodObject, schema: z.ZodType<T>): Promise<T>;
}

async function runProbe<T>(
  reader: FactReader,
  deployment: DeploymentObject,
  run: (probe: Probe) => Promise<T>,
): Promise<T> {
  await removeLeft(reader);
  const id = randomBytes(4).toString("hex");
  const { kube, call } = reader;
  const create: Probe["create"] = (ref, object) => kube.create(ref, object, call);
  const until: Probe["until"] = (pod, isThere) => untilPod(reader, pod, isThere);
  try {
    return await run({
      id,
      create,
      until,
      start: (role, args) => create(Pod, toProbePod(deployment, { id, role, args })),
      outcomeOf: async (pod, schema) => parseOutcome(await until(pod, hasEnded), schema),
    });
  } finally {
    await removeProbe(reader, id);
  }
}

async function untilPod(
  { kube, call }: FactReader,
  { metadata: { name } }: PodObject,
  isThere: (pod: PodObject) => boolean,
): Promise<PodObject> {
  const deadline = Date.now() + POD_DEADLINE_MS;
  for (;;) {
    const pod = await kube.find(Pod, { namespace: SYSTEM_NAMESPACE, name }, call);
    if (!pod) throw new CouldNotLook(`somebody removed the pod ${name} of the probe`);
    if (isThere(pod)) return pod;
    if (hasEnded(pod)) throw new CouldNotLook(`the pod ${name} of the probe ended early: ${stateOf(pod)}`);
    if (Date.now() >= deadline)
      throw new CouldNotLook(
        `the pod ${name} of the probe did not end in ${POD_DEADLINE_MS / 1000} s: ${stateOf(pod)}`,
      );
    await delay(POLL_MS, undefined, { signal: call.signal });
  }
}

function parseOutcome<T>(pod: PodObject, schema: z.ZodType<T>): T {
  const found = schema.safeParse(parseMessage(messageOf(pod) ?? ""));
  if (!found.success) throw new CouldNotLook(`the pod ${pod.metadata.name} of the probe failed: ${stateOf(pod)}`);
  return found.data;
}

function parseMessage(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

async function removeProbe(reader: FactReader, id: string): Promise<void> {
  await removeAll(reader, { labelSelector: `${PROBE_LABEL}=${id}`, isOld: () => true });
}

async function removeLeft(reader: FactReader): Promise<void> {
  const before = Date.now() - LEFT_MS;
  await removeAll(reader, { labelSelector: PROBE_LABEL, isOld: (createdAt) => createdAt < before });
}

/** A few objects; not by the signal of the reading, which may be the reason that a probe ends. */
async function removeAll(
  { kube, call: { deadlineMs } }: FactReader,
  { labelSelector, isOld }: { labelSelector: string; isOld: (createdAt: number) => boolean },
): Promise<void> {
  for (const ref of [Pod, NetworkPolicy] as ResourceRef[]) {
    const { items } = await kube.list(ref, { namespace: SYSTEM_NAMESPACE, labelSelector, deadlineMs });
    for (const { metadata } of items)
      if (isOld(Date.parse(metadata.creationTimestamp ?? "")))
        await ignoreGone(
          kube.delete(ref, { namespace: SYSTEM_NAMESPACE, name: metadata.name }, { gracePeriodSeconds: 0, deadlineMs }),
        );
  }
}
