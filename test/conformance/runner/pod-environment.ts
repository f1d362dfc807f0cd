// A runner whose instances are pods of a real node: the way to them is the API server's proxy, their logs are pods/log.
import { text } from "node:stream/consumers";
import type { Pod as PodType } from "kubernetes-types/core/v1.js";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import type { BackendRole } from "../../../crds/backend-class/find-class.ts";
import { LABELS } from "../../../crds/labels.ts";
import type { LRP } from "../../../crds/lrp/lrp.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Namespace, Pod, type Builtin } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { KubeError } from "../../../kube/client/errors.ts";
import { applyObjects } from "../../../platform/install.ts";
import type { LogLine, RunnerEnvironment } from "./environment.ts";
import { SPACE } from "./laptop.ts";
import { PROBE_COMMAND, PROBE_IMAGE } from "./probe/probe-image.ts";

const DEADLINE_MS = 5000;
/** A busy machine starts a pod in seconds, and waits longer after each crash. */
const PATIENCE_MS = 120_000;

/** The environment of one class in a namespace of its own; the platform runs already, and its nodes have the probe's image. */
export async function podEnvironment(
  client: KubeClient,
  { className, role }: { className: string; role: BackendRole },
): Promise<RunnerEnvironment> {
  const namespace = `runner-${className}`;
  await applyObjects(client, [systemObject(BackendClass, className, { role })]);
  await client.create(Namespace, {
    metadata: { name: namespace, labels: { [LABELS.namespaceKind]: "space", [LABELS.space]: SPACE.guid } },
  });
  return {
    client,
    className,
    namespace,
    space: SPACE,
    droplet: { guid: "probe", kind: "docker", image: PROBE_IMAGE, processTypes: {} },
    command: PROBE_COMMAND,
    patience: PATIENCE_MS,
    request: async ({ host = "", ports = [] }, port, path) => {
      const { hostPort } = ports.find((each) => each.port === port) ?? {};
      const pods = (await client.list(Pod, { namespace })).items;
      const pod = pods.find(({ status }) => status?.podIP === host && status.phase === "Running");
      if (!pod || hostPort === undefined) throw new Error(`no pod runs at ${host}:${port}`);
      return await get(client, `${pathOf(pod)}:${hostPort}/proxy${path}`);
    },
    logs: (lrp) => readLogs(client, lrp),
    stop: () => Promise.resolve(),
  };
}

type PodObject = Builtin<PodType>;

function pathOf({ metadata }: PodObject): string {
  return `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
}

async function get(client: KubeClient, path: string): Promise<{ status: number; body: string }> {
  try {
    const { code, body } = await client.stream("GET", path, { deadlineMs: DEADLINE_MS });
    return { status: code, body: await text(body) };
  } catch (error) {
    // The proxy passes on what the instance answered, and 503 of its own when it cannot reach it.
    if (error instanceof KubeError && error.code >= 400 && !/proxy|dial|connect/.test(error.message))
      return { status: error.code, body: error.message };
    throw error;
  }
}

/** By the stable labels, as other people's tools find them. */
async function readLogs(client: KubeClient, { metadata, spec }: LRP): Promise<LogLine[]> {
  const { namespace = "" } = metadata;
  const pods = (await client.list(Pod, { namespace, labelSelector: `${LABELS.app}=${spec.app.guid}` })).items;
  const logs = pods.map(async (pod): Promise<LogLine[]> => {
    const index = Number(pod.metadata.labels?.[LABELS.instanceIndex]);
    const read = (more: string): Promise<string> =>
      get(client, `${pathOf(pod)}/log?container=application${more}`).then(
        ({ status, body }) => (status === 200 ? body : ""),
        () => "",
      );
    const lines = `${await read("&previous=true")}\n${await read("")}`.split("\n").filter(Boolean);
    return lines.map((line) => ({ index, stream: "OUT", text: line }));
  });
  return (await Promise.all(logs)).flat();
}
