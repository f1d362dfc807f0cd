// Whether the API server gives stdout and stderr of a container apart: the feature gate PodLogsQuerySplitStreams, alpha in 1.34.
import type { KubeClient } from "../../kube/client/client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import type { LogStream } from "./stream-log.ts";

const APART: readonly LogStream[] = ["Stdout", "Stderr"];
const JOINED: readonly LogStream[] = [undefined];
const DEADLINE_MS = 5_000;

/**
 * The streams to read. Asks for the log of a pod that does not exist: with the gate, the API server knows `Stdout` and refuses another name; without it, it refuses
 * both (1.32 and later) or knows no parameter `stream` and refuses neither. @throws Error when the API server does not answer
 */
export async function detectLogStreams(client: KubeClient, namespace: string): Promise<readonly LogStream[]> {
  const isRefused = async (stream: string): Promise<boolean> => {
    const path = `/api/v1/namespaces/${namespace}/pods/cupola-no-such-pod/log?stream=${stream}`;
    try {
      (await client.stream("GET", path, { deadlineMs: DEADLINE_MS })).body.destroy();
      return false;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return error.code === 422;
    }
  };
  return (await isRefused("NoSuchStream")) && !(await isRefused("Stdout")) ? APART : JOINED;
}
