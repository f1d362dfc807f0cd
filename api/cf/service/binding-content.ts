// Content of a binding: of a managed instance its own Secret's content, of a user-provided one the instance's credentials.
import { readBindingContent, type BindingContent } from "../../../crds/service-binding/binding-secret.ts";
import { ServiceBinding } from "../../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";
import { findCredentials } from "./instance-credentials.ts";

/** Without credentials when their Secret is missing or not allowed. The caller must have been authorized. */
export async function findBindingContent(
  session: Session,
  binding: ServiceBinding,
  instance: ServiceInstance,
): Promise<BindingContent> {
  if (instance.spec.type !== "managed") {
    const { syslogDrainURL } = instance.spec;
    const credentials = instance.spec.credentialsSecretRef ? await findCredentials(session, instance) : null;
    return { credentials, ...(syslogDrainURL !== undefined && { syslogDrainURL }) };
  }
  const { platformClient, signal, cache } = session;
  const key = { namespace: binding.metadata.namespace ?? "", name: binding.status?.binding?.name ?? "" };
  if (key.name === "") return { credentials: {} };
  const secret = await accessSecret(() => platformClient.find(Secret, key, { signal }), signal);
  return readBindingContent(secret, cache.guid(ServiceBinding, binding)) ?? { credentials: {} };
}
