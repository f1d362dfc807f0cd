// The tags that say whose log line or metric an envelope is.

interface Named {
  guid: string;
  name: string;
}

/** Cloud Foundry's tags for an app, its space and its org. */
export function toSourceTags({ app, space, org }: { app: Named; space: Named; org: Named }): Record<string, string> {
  return {
    app_id: app.guid,
    app_name: app.name,
    space_id: space.guid,
    space_name: space.name,
    organization_id: org.guid,
    organization_name: org.name,
  };
}
