// Removes the parameters that an update has replaced: each update has a Secret of its own, and none would ever go.
import { LABELS } from "../../crds/labels.ts";
import type { ProvidedBy } from "../../crds/service-instance/managed-fields.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { Secret } from "../../kube/api/builtin.ts";
import { ignoreNotFound } from "../../kube/client/ignore-gone.ts";
import type { Provided } from "../shared/osb/provided.ts";

/** Those of `before`, unless `after` or the spec still names them. A Secret of people stays. */
export async function removeOldParameters(
  { metadata, spec }: ServiceInstance,
  { before, after }: { before: ProvidedBy; after: ProvidedBy },
  { guid, context: { client } }: Pick<Provided, "guid" | "context">,
): Promise<void> {
  const name = before.parametersSecret;
  if (name === undefined || [after.parametersSecret, spec.parametersSecretRef?.name].includes(name)) return;
  const key = { namespace: metadata.namespace ?? "", name };
  const secret = await client.find(Secret, key);
  if (secret?.metadata.labels?.[LABELS.serviceInstance] !== guid) return;
  await ignoreNotFound(client.delete(Secret, key));
}
