// Writes of runners to pods. A pod that has gone meanwhile is no error.
import { Pod } from "../../kube/api/builtin.ts";
import { isConflict, isNotFound } from "../../kube/client/errors.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import type { PodObject } from "./slim-pod.ts";

type Writer = Pick<ReconcileContext, "client">;

/** Its Deployment or StatefulSet makes another one. */
export async function deletePod({ metadata }: PodObject, { client }: Writer): Promise<void> {
  const { namespace = "", name, uid = "" } = metadata;
  await unlessGone(client.delete(Pod, { namespace, name }, { preconditions: { uid } }));
}

export async function labelPod(
  { metadata }: PodObject,
  labels: Readonly<Record<string, string>>,
  { client }: Writer,
): Promise<void> {
  const { namespace = "", name, uid } = metadata;
  await unlessGone(client.patch(Pod, { namespace, name }, { type: "merge", body: { metadata: { uid, labels } } }));
}

/** The pod is gone, or the name is another pod's. */
async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
