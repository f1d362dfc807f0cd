// `cup services`: the instances of the targeted space, with what is bound to them.
import type { Json, Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { table, type Result } from "../output.ts";
import { tellOperation, type Binding, type Instance, type LastOperation, type Plan } from "./instance.ts";

interface Row {
  name: string;
  guid: string;
  type: Instance["type"];
  /** Null for a user-provided instance. */
  offering: string | null;
  plan: string | null;
  apps: string[];
  last_operation: LastOperation | null;
  upgrade_available: boolean;
}

/** Members of plan and offering that an answer adds. */
export const CATALOG_FIELDS = {
  "fields[service_plan]": "guid,name,relationships.service_offering",
  "fields[service_plan.service_offering]": "guid,name",
} as const;

export async function listServices(context: Context): Promise<Result> {
  const space = await context.space();
  const { resources: instances, included } = await context.api.listIncluding<Instance>("/v3/service_instances", {
    space_guids: space.guid,
    order_by: "name",
    ...CATALOG_FIELDS,
  });
  if (instances.length === 0)
    return { json: [], text: [`No service instances in space ${space.name}. Next: cup marketplace`] };
  const catalog = toCatalogNames(included);
  const apps = await readBoundApps(context, instances);
  const rows = instances.map((instance): Row => {
    const plan = catalog.get(instance.relationships.service_plan?.data?.guid ?? "");
    return {
      name: instance.name,
      guid: instance.guid,
      type: instance.type,
      offering: plan?.offering ?? null,
      plan: plan?.name ?? null,
      apps: apps.get(instance.guid) ?? [],
      last_operation: instance.last_operation,
      upgrade_available: instance.upgrade_available === true,
    };
  });
  return { json: rows, text: table(["name", "offering", "plan", "bound apps", "last operation"], rows.map(toCells)) };
}

function toCells({ name, type, offering, plan, apps, last_operation, upgrade_available }: Row): string[] {
  const state = tellOperation(last_operation);
  return [
    name,
    type === "user-provided" ? "user-provided" : (offering ?? "not in the catalog"),
    plan ?? "",
    apps.join(", "),
    upgrade_available ? `${state}, upgrade available` : state,
  ];
}

/** Names of plan and offering, by the plan's GUID. Pure. */
export function toCatalogNames(
  included: Readonly<Record<string, Json[]>>,
): Map<string, { name: string; offering: string | undefined }> {
  const [plans, offerings] = [(included["service_plans"] ?? []) as Plan[], included["service_offerings"] ?? []];
  const names = new Map((offerings as Resource[]).map(({ guid, name }) => [guid, name]));
  return new Map(
    plans.map(({ guid, name, relationships }) => [
      guid,
      { name, offering: names.get(relationships.service_offering.data.guid) },
    ]),
  );
}

/** GUIDs in one query: more would make an address too long. */
const GUIDS_A_QUERY = 50;

/** Names of the bound apps by the instance's GUID. */
async function readBoundApps({ api }: Context, instances: readonly Instance[]): Promise<Map<string, string[]>> {
  const bound = new Map<string, Set<string>>();
  for (let at = 0; at < instances.length; at += GUIDS_A_QUERY) {
    const guids = instances.slice(at, at + GUIDS_A_QUERY).map(({ guid }) => guid);
    const { resources, included } = await api.listIncluding<Binding>("/v3/service_credential_bindings", {
      type: "app",
      service_instance_guids: guids.join(","),
      include: "app",
    });
    const names = new Map(((included["apps"] ?? []) as Resource[]).map(({ guid, name }) => [guid, name]));
    for (const { relationships } of resources) {
      const app = names.get(relationships.app?.data.guid ?? "");
      const instance = relationships.service_instance.data.guid;
      if (app !== undefined) bound.set(instance, (bound.get(instance) ?? new Set()).add(app));
    }
  }
  return new Map([...bound].map(([instance, found]) => [instance, [...found].sort()]));
}
