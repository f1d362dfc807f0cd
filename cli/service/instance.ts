// A service instance as `cup` reads and tells it.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { quoteForShell } from "../shell-words.ts";

export interface LastOperation {
  type: "create" | "update" | "delete";
  state: "in progress" | "succeeded" | "failed";
  description: string;
  updated_at: string;
}

export interface Instance extends Resource {
  type: "managed" | "user-provided";
  tags: string[];
  last_operation: LastOperation | null;
  dashboard_url?: string | null;
  syslog_drain_url?: string | null;
  upgrade_available?: boolean;
  relationships: { service_plan?: { data: { guid: string } | null } };
}

export interface Binding extends Resource {
  type: "app" | "key";
  last_operation: LastOperation | null;
  relationships: { app?: { data: { guid: string } }; service_instance: { data: { guid: string } } };
}

export interface Plan extends Resource {
  free: boolean;
  description: string;
  relationships: { service_offering: { data: { guid: string } } };
}

/** An instance of the targeted space by name. @throws Failure */
export async function getInstance({ api, space }: Context, name: string): Promise<Instance> {
  const { guid } = await space();
  const [found] = await api.list<Instance>("/v3/service_instances", {
    names: encodeURIComponent(name),
    space_guids: guid,
  });
  if (found) return found;
  throw new Failure(`service instance ${name} does not exist, or you may not see it`, { next: "cup services" });
}

/** An app's bindings to an instance. */
export async function listBindings({ api }: Context, instance: Resource, app?: Resource): Promise<Binding[]> {
  return await api.list<Binding>("/v3/service_credential_bindings", {
    service_instance_guids: instance.guid,
    ...(app && { app_guids: app.guid, type: "app" }),
    order_by: "created_at",
  });
}

/** `create in progress: half done`. Pure. */
export function tellOperation(operation: LastOperation | null): string {
  if (!operation) return "";
  const { type, state, description } = operation;
  const isSaid = description !== "" && state !== "succeeded";
  return `${type} ${state}${isSaid ? `: ${description}` : ""}`;
}

/** The next step of a person after the last operation; undefined where nothing is to be done. Pure. */
export function nextStep({ name, last_operation: last, ...instance }: Instance): string | undefined {
  const word = quoteForShell(name);
  if (last?.state === "failed")
    return last.type === "update"
      ? `cup service ${word}, then the update again`
      : `cup delete-service ${word}${last.type === "create" ? ", then cup create-service again" : " tries again"}`;
  if (last?.state === "in progress") return `cup service ${word} shows when it has ended`;
  return instance.upgrade_available ? `cf upgrade-service ${word}` : undefined;
}
