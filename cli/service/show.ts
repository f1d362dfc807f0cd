// `cup service`: one instance, with its last operation, its bindings, and the next step.
import type { Json, Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { fields, table, type Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { getInstance, nextStep, tellOperation, type Binding, type Instance } from "./instance.ts";
import { CATALOG_FIELDS, toCatalogNames } from "./list.ts";

export async function showService(context: Context, name: string): Promise<Result> {
  const instance = await getInstance(context, name);
  const [plan, { bindings, rows }] = await Promise.all([readPlan(context, instance), readBindings(context, instance)]);
  const next = nextStep(instance);
  return {
    json: { ...instance, offering: plan?.offering ?? null, plan: plan?.name ?? null, bindings, next: next ?? null },
    text: [
      ...fields(instance.type === "managed" ? describeManaged(instance, plan) : describeUserProvided(instance)),
      "",
      ...(rows.length > 0
        ? table(["bound", "name", "last operation"], rows)
        : [`Nothing is bound to it: cup bind APP ${quoteForShell(name)}`]),
      ...(next === undefined ? [] : ["", `Next: ${next}`]),
    ],
  };
}

interface NamedPlan {
  name: string;
  offering: string | undefined;
}

async function readPlan({ api }: Context, instance: Instance): Promise<NamedPlan | undefined> {
  const planGUID = instance.relationships.service_plan?.data?.guid;
  if (planGUID === undefined) return undefined;
  const path = `/v3/service_instances/${instance.guid}`;
  const { included = {} } = await api.request<{ included?: Record<string, Json[]> }>("GET", path, {
    query: CATALOG_FIELDS,
  });
  return toCatalogNames(included).get(planGUID);
}

async function readBindings(
  { api }: Context,
  { guid }: Instance,
): Promise<{ bindings: Binding[]; rows: [string, string, string][] }> {
  const { resources: bindings, included } = await api.listIncluding<Binding>("/v3/service_credential_bindings", {
    service_instance_guids: guid,
    include: "app",
    order_by: "created_at",
  });
  const apps = new Map(((included["apps"] ?? []) as Resource[]).map((app) => [app.guid, app.name]));
  const rows = bindings.map(({ type, name, relationships, last_operation }): [string, string, string] => [
    type,
    type === "key" ? name : (apps.get(relationships.app?.data.guid ?? "") ?? "an app that you may not see"),
    tellOperation(last_operation),
  ]);
  return { bindings, rows };
}

type Fields = (readonly [string, string])[];

const UNKNOWN = "not in the catalog";

function describeManaged(instance: Instance, { offering = UNKNOWN, name = UNKNOWN }: Partial<NamedPlan> = {}): Fields {
  const { dashboard_url: dashboard } = instance;
  return [
    ["name", instance.name],
    ["guid", instance.guid],
    ["offering", offering],
    ["plan", name],
    ...(dashboard ? [["dashboard", dashboard] as const] : []),
    ...describeState(instance),
  ];
}

function describeUserProvided(instance: Instance): Fields {
  return [
    ["name", instance.name],
    ["guid", instance.guid],
    ["offering", "user-provided"],
    // The address may have a password.
    ["log drain", instance.syslog_drain_url ? "yes" : "no"],
    ...describeState(instance),
  ];
}

function describeState({ tags, last_operation: last }: Instance): Fields {
  return [
    ["tags", tags.join(", ") || "none"],
    ["last operation", tellOperation(last) || "none"],
    ["since", last?.updated_at ?? "-"],
  ];
}
