// The catalog of a service broker, checked. Unknown members are left out; what breaks CF's rules refuses the whole catalog.
import { z } from "zod";
import { cfNameProblem } from "../../../crds/cf-name.ts";
import { catalogID, MAX_CATALOG_JSON } from "../../../crds/service-offering/service-offering.ts";
import { toPlainWords } from "./plain-words.ts";

/** Bytes of a catalog. */
export const MAX_CATALOG_BYTES = 4 * 1024 * 1024;
/** Plans of all offerings together: each is an object in the cluster. */
export const MAX_CATALOG_PLANS = 1000;
/** Offerings, some without plans that anybody may use. */
const MAX_OFFERINGS = 500;
/** Problems that are told of, and characters of each. */
const MAX_PROBLEMS = 10;
const MAX_PROBLEM = 1000;

/** A list that is refused unread when it is too long: each element of a wrong type would be a problem of its own. */
function listOf<T extends z.ZodType>(element: T, most: number) {
  return z
    .unknown()
    .refine((value) => !Array.isArray(value) || value.length <= most, {
      error: `has more than ${most} elements`,
      abort: true,
    })
    .pipe(z.array(element));
}

/** The API server keeps something else for halves of characters, so what is there would never be what is wanted. */
const isWellFormed = [(text: string) => text.isWellFormed(), "must not have halves of characters"] as const;
const id = catalogID.refine(...isWellFormed);
const name = z
  .string()
  .min(1)
  .max(255)
  .superRefine((text, context) => {
    const message = cfNameProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .refine(...isWellFormed);
const MAX_DESCRIPTION = 10_000;
const words = (most: number) =>
  z
    .string()
    .max(most)
    .transform((text) => toPlainWords(text, most));
/** As in CF, none without. */
const description = words(MAX_DESCRIPTION).refine((text) => text.trim() !== "", "is empty");
const json = z
  .unknown()
  .transform((value) => (value === undefined || value === null ? undefined : JSON.stringify(value)))
  .refine(
    (text) => text === undefined || text.length <= MAX_CATALOG_JSON,
    `has more than ${MAX_CATALOG_JSON} characters`,
  )
  .optional();
const schema = z.looseObject({ parameters: z.looseObject({}).nullish() }).nullish();
const SCHEMAS = z
  .looseObject({
    service_instance: z.looseObject({ create: schema, update: schema }).nullish(),
    service_binding: z.looseObject({ create: schema }).nullish(),
  })
  .nullish();
/** Their form; nobody here reads the JSON schemas in them. */
const schemas = z
  .unknown()
  .superRefine((value, context) => {
    for (const { path, message } of SCHEMAS.safeParse(value).error?.issues ?? [])
      context.addIssue({ code: "custom", path: [...path], message });
  })
  .pipe(json)
  .optional();
const SEMANTIC_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const version = z.string().max(255).regex(SEMANTIC_VERSION, "must be a semantic version, such as 1.2.3");
const isSet = z.boolean().nullish();

const plan = z.object({
  id,
  name,
  description,
  free: isSet,
  bindable: isSet,
  plan_updateable: isSet,
  binding_rotatable: isSet,
  metadata: json,
  schemas,
  maximum_polling_duration: z.int().min(1).max(604_800).nullish(),
  maintenance_info: z.object({ version, description: words(MAX_DESCRIPTION).nullish() }).nullish(),
});

const service = z.object({
  id,
  name,
  description,
  tags: listOf(words(2048), 100).nullish(),
  requires: listOf(z.enum(["syslog_drain", "route_forwarding", "volume_mount"]), 3).nullish(),
  bindable: z.boolean(),
  bindings_retrievable: isSet,
  instances_retrievable: isSet,
  plan_updateable: isSet,
  allow_context_updates: isSet,
  // It has a secret, which nobody here needs.
  dashboard_client: z
    .unknown()
    .transform((value) => typeof value === "object" && value !== null && Object.keys(value).length > 0)
    .optional(),
  metadata: z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= MAX_CATALOG_JSON, `has more than ${MAX_CATALOG_JSON} characters`)
    .nullish(),
  plans: listOf(plan, MAX_CATALOG_PLANS).refine((plans) => plans.length > 0, "has no plan"),
});

const catalog = z.object({ services: listOf(z.unknown(), MAX_OFFERINGS) });
export type CatalogService = z.output<typeof service>;
export type CatalogPlan = CatalogService["plans"][number];
export interface Catalog {
  services: CatalogService[];
}

/** The catalog, or what is wrong with it. */
export function parseCatalog(body: unknown): { catalog: Catalog } | { problems: string[] } {
  const plans = countPlans(body);
  if (plans > MAX_CATALOG_PLANS)
    return { problems: [`it has ${plans} plans, and at most ${MAX_CATALOG_PLANS} are taken; offer fewer`] };
  const parsed = catalog.safeParse(body);
  if (!parsed.success) return toProblems(listIssues(parsed.error));
  const services: CatalogService[] = [];
  // Stops at the first few: wording thousands of problems would take a second.
  for (const [at, each] of parsed.data.services.entries()) {
    const one = service.safeParse(each);
    if (!one.success) return toProblems(listIssues(one.error, ["services", at]));
    services.push(one.data);
  }
  const duplicates = listDuplicates({ services });
  return duplicates.length > 0 ? toProblems(duplicates) : { catalog: { services } };
}

function listIssues({ issues }: z.ZodError, place: readonly PropertyKey[] = []): string[] {
  return issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${[...place, ...path].join(".")}: ${message}`);
}

function toProblems(problems: readonly string[]): { problems: string[] } {
  return { problems: problems.slice(0, MAX_PROBLEMS).map((one) => toPlainWords(one, MAX_PROBLEM)) };
}

function countPlans(body: unknown): number {
  const services = membersOf(body, "services");
  return services.reduce<number>((sum, one) => sum + membersOf(one, "plans").length, 0);
}

function membersOf(value: unknown, name: "services" | "plans"): readonly unknown[] {
  const member = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return Array.isArray(member) ? member : [];
}

function listDuplicates({ services }: Catalog): string[] {
  const plans = services.flatMap((one) => one.plans);
  return [
    ...duplicates(services.map(({ id }) => id)).map((id) => `service id '${id}' is there twice`),
    ...duplicates(services.map((one) => one.name)).map((one) => `service name '${one}' is there twice`),
    ...duplicates(plans.map(({ id }) => id)).map((id) => `plan id '${id}' is there twice`),
    ...services.flatMap((one) =>
      duplicates(one.plans.map((each) => each.name)).map(
        (each) => `plan name '${each}' is there twice in '${one.name}'`,
      ),
    ),
  ];
}

function duplicates(values: readonly string[]): string[] {
  const seen = new Set<string>();
  const again = values.filter((value) => seen.size === seen.add(value).size);
  return [...new Set(again)];
}
