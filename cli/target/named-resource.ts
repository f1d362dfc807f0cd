// An org or a space as the config remembers it.
import type { Resource } from "../api/client.ts";

export function toNamedResource(resource: Resource): { guid: string; name: string } {
  return { guid: resource.guid, name: resource.name };
}
