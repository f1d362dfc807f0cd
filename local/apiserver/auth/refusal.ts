// The 403 of a forbidden request, in kube-apiserver's words.
import type { AttributesRecord } from "../types.ts";
import { forbidden, forbiddenPath, type StatusError } from "../status.ts";

const quote = (text: string) => JSON.stringify(text);

function sentence({ user, verb, path, group, resource, subresource, namespace }: AttributesRecord): string {
  if (path !== undefined) return `User ${quote(user.name)} cannot ${verb} path ${quote(path)}`;
  const what = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? `in the namespace ${quote(namespace)}` : "at the cluster scope";
  return `User ${quote(user.name)} cannot ${verb} resource ${quote(what)} in API group ${quote(group)} ${where}`;
}

/** `pods "x" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "n"`, with the authorizer's reason behind. */
export function refusalOf(attributes: AttributesRecord, reason: string): StatusError {
  const message = reason ? `${sentence(attributes)}: ${reason}` : sentence(attributes);
  if (attributes.path !== undefined) return forbiddenPath(`forbidden: ${message}`);
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, message);
}
