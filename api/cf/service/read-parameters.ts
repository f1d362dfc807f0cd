// Parameters as they are read back: those that the broker told last, else those that it was given last.
import { parametersIn, type ParametersOwner } from "../../../crds/service-instance/parameters.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";

/** Bytes; brokers may tell more than they are given. */
const MOST = 256 * 1024;

/** `{}` without any. The caller must have been authorized. `secret` is in the object's namespace, and the object's own or labelled for use. */
export async function readParameters(
  { platformClient, signal }: Session,
  { metadata: { namespace = "" } }: KubeObject,
  { secret, owner }: { secret: string | undefined; owner: ParametersOwner },
): Promise<object> {
  if (secret === undefined) return {};
  const key = { namespace, name: secret };
  const found = await accessSecret(() => platformClient.find(Secret, key, { signal }), signal);
  return parametersIn(found, owner, MOST) ?? {};
}
