// Builds the OSB context: the space of an instance or binding. Pure.
import type { Tenancy } from "../tenancy.ts";

export function toContext({ org, space }: Tenancy, instanceName?: string): object {
  return {
    platform: "cloudfoundry",
    organization_guid: org.guid,
    organization_name: org.name,
    space_guid: space.guid,
    space_name: space.name,
    ...(instanceName !== undefined && { instance_name: instanceName }),
  };
}
