// `cup marketplace`: offerings and plans of the targeted space.
import type { Resource } from "../api/client.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { table, type Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import type { Plan } from "./instance.ts";

export interface Offering extends Resource {
  description: string;
  available: boolean;
  relationships: { service_broker: { data: { guid: string } } };
}

export interface Offered {
  offering: Offering;
  plans: Plan[];
}

/** Offerings with at least one plan that the space may use, by name. */
export async function readMarketplace({ api, space }: Context, name?: string): Promise<Offered[]> {
  const { guid } = await space();
  const query = { space_guids: guid, available: "true", order_by: "name" };
  const [offerings, plans] = await Promise.all([
    api.list<Offering>("/v3/service_offerings", {
      ...query,
      ...(name !== undefined && { names: encodeURIComponent(name) }),
    }),
    api.list<Plan>("/v3/service_plans", {
      ...query,
      ...(name !== undefined && { service_offering_names: encodeURIComponent(name) }),
    }),
  ]);
  const byOffering = Map.groupBy(plans, ({ relationships }) => relationships.service_offering.data.guid);
  return offerings.flatMap((offering) => {
    const own = byOffering.get(offering.guid);
    return own ? [{ offering, plans: own }] : [];
  });
}

export async function showMarketplace(context: Context, name?: string): Promise<Result> {
  const offered = await readMarketplace(context, name);
  const json = offered.map(({ offering, plans }) => ({ ...offering, plans }));
  if (offered.length > 0) return { json, text: name === undefined ? listOfferings(offered) : listPlans(offered) };
  if (name !== undefined) throw notOffered(name);
  const { name: space } = await context.space();
  return { json, text: [`No services are offered to space ${space}. Next: cf create-service-broker --help`] };
}

export function notOffered(name: string): Failure {
  return new Failure(`the offering ${name} does not exist, or this space may not use it`, { next: "cup marketplace" });
}

function listOfferings(offered: readonly Offered[]): string[] {
  return table(
    ["offering", "plans", "description"],
    offered.map(({ offering, plans }) => [
      offering.name,
      plans.map(({ name, free }) => (free ? name : `${name} (paid)`)).join(", "),
      offering.description,
    ]),
  );
}

function listPlans(offered: readonly Offered[]): string[] {
  const [first] = offered;
  const rows = offered.flatMap(({ plans }) =>
    plans.map((plan) => [plan.name, plan.free ? "free" : "paid", plan.description]),
  );
  const example = first && `cup create-service ${quoteForShell(first.offering.name)} NAME --plan PLAN`;
  return [...table(["plan", "costs", "description"], rows), "", `Next: ${example}`];
}
