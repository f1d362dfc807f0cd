// A Secret of an object: written where there is none or the object's own, never over somebody else's. It goes with the object.
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { isAlreadyExists } from "../../kube/client/errors.ts";
import { NotReady, type ReconcileContext } from "../../kube/controller/controller.ts";
import { toOwnerReference } from "./app-owned.ts";

/** Until a Secret that is in the way is looked for again. */
const TAKEN_MS = 30_000;

export interface OwnSecret {
  name: string;
  type: string;
  /** With the object's GUID, which says whose it is. */
  label: { key: string; guid: string };
  /** In base64. */
  data: Record<string, string>;
}

/** @throws NotReady("SecretTaken") */
export async function putOwnSecret(
  { ref, object }: { ref: ResourceRef; object: KubeObject },
  { name, type, label, data }: OwnSecret,
  { client }: Pick<ReconcileContext, "client">,
): Promise<void> {
  const key = { namespace: object.metadata.namespace ?? "", name };
  const metadata = {
    ...key,
    labels: { [label.key]: label.guid },
    ownerReferences: [toOwnerReference(object, ref)],
  };
  try {
    await client.create(Secret, { metadata, type, data });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get(Secret, key);
    if (found.metadata.labels?.[label.key] !== label.guid) throw secretTaken(name, ref);
    await client.patch(Secret, key, { type: "merge", body: { data } });
  }
}

function secretTaken(name: string, { kind }: ResourceRef): NotReady {
  return new NotReady(
    "SecretTaken",
    `Secret ${name} exists already and is not of this ${kind}, for which the service broker's answer is to be in it; delete that Secret`,
    { isFailure: true, requeueAfterMs: TAKEN_MS },
  );
}
