// What the config remembers of an org or a space.
import type { Resource } from "../api/client.ts";

export function toNamedResource(resource: Resource): { guid: string; name: string } {
  return { guid: resource.guid, name: resource.name };
}
