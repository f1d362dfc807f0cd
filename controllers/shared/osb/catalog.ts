// The catalog of a service broker, checked. Unknown members are left out; what breaks CF's rules refuses the whole catalog.
import { z } from "zod";
import { cfNameProblem } from "../../../crds/cf-name.ts";
import { catalogID, MAX_CATALOG_JSON } from "../../../crds/service-offering/service-offering.ts";

/** Bytes of a catalog. */
export const MAX_CATALOG_BYTES = 4 * 1024 * 1024;
const MAX_ENTRIES = 500;

const name = z
  .string()
  .min(1)
  .max(255)
  .superRefine((text, context) => {
    const message = cfNameProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
const description = z.string().max(10_000).default("");
const json = z
  .unknown()
  .transform((value) => (value === undefined || value === null ? undefined : JSON.stringify(value)))
  .refine(
    (text) => text === undefined || text.length <= MAX_CATALOG_JSON,
    `has more than ${MAX_CATALOG_JSON} characters`,
  )
  .optional();
const isSet = z.boolean().nullish();

const plan = z.object({
  id: catalogID,
  name,
  description,
  free: isSet,
  bindable: isSet,
  plan_updateable: isSet,
  metadata: json,
  schemas: json,
  maximum_polling_duration: z.int().min(1).max(604_800).nullish(),
  maintenance_info: z.object({ version: z.string().max(255), description: z.string().max(10_000).nullish() }).nullish(),
});

const service = z.object({
  id: catalogID,
  name,
  description,
  tags: z.array(z.string().max(2048)).max(100).nullish(),
  requires: z.array(z.enum(["syslog_drain", "route_forwarding", "volume_mount"])).nullish(),
  bindable: z.boolean(),
  bindings_retrievable: isSet,
  instances_retrievable: isSet,
  plan_updateable: isSet,
  allow_context_updates: isSet,
  metadata: z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= MAX_CATALOG_JSON, `has more than ${MAX_CATALOG_JSON} characters`)
    .nullish(),
  plans: z.array(plan).min(1).max(MAX_ENTRIES),
});

const catalog = z.object({ services: z.array(service).max(MAX_ENTRIES) });
export type Catalog = z.output<typeof catalog>;
export type CatalogService = Catalog["services"][number];
export type CatalogPlan = CatalogService["plans"][number];

/** The catalog, or what is wrong with it. */
export function parseCatalog(body: unknown): { catalog: Catalog } | { problems: string[] } {
  const parsed = catalog.safeParse(body);
  if (!parsed.success)
    return { problems: parsed.error.issues.slice(0, 10).map((issue) => `${issue.path.join(".")}: ${issue.message}`) };
  const problems = listDuplicates(parsed.data);
  return problems.length > 0 ? { problems } : { catalog: parsed.data };
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
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
