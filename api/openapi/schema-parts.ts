// Parts of the schemas of answers. Each schema gives the OpenAPI document its component, and the tests their judgement of every answer.
import { z } from "zod";

/** Schemas that the OpenAPI document refers to by name. */
export const components = z.registry<{ id: string }>();

/** Registers a schema under its name in the OpenAPI document. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  components.add(schema, { id });
  return schema;
}

/** A GUID of an object. GUIDs of users and jobs are any string. */
export const guid = z.guid();
export const timestamp = z.iso.datetime({ precision: 0 });
export const text = z.string();
export const integer = z.int();
export const flag = z.boolean();
export const textMap = z.record(z.string(), z.string());
/** An object whose members are not CF's to define. */
export const anyObject = named("AnyObject", z.record(z.string(), z.unknown()));

export const identity = { guid, created_at: timestamp, updated_at: timestamp };

export const metadata = named("Metadata", z.strictObject({ labels: textMap, annotations: textMap }));

const reference = z.strictObject({ guid });
export const toOne = named("ToOneRelationship", z.strictObject({ data: reference }));
/** An object that kubectl made may name an app that is not there: the GUID is empty then. */
export const toApp = named("AppRelationship", z.strictObject({ data: z.strictObject({ guid: z.string() }) }));
export const toOneOrNone = named("OptionalToOneRelationship", z.strictObject({ data: reference.nullable() }));
export const toMany = named("ToManyRelationship", z.strictObject({ data: z.array(reference) }));
/** `null` in place of a GUID rather than of the object around it. */
export const guidOrNull = z.strictObject({ guid: guid.nullable() });

const href = z.url();
export const link = named("Link", z.strictObject({ href }));
export const postLink = named("PostLink", z.strictObject({ href, method: z.literal("POST") }));
export const patchLink = named("PatchLink", z.strictObject({ href, method: z.literal("PATCH") }));

/** The links that every object of the kind has, all for GET, and others. */
export function links<More extends z.ZodRawShape = Record<never, never>>(names: readonly string[], more?: More) {
  return z.strictObject({ ...Object.fromEntries(names.map((name) => [name, link])), ...more });
}

const pagination = named(
  "Pagination",
  z.strictObject({
    total_results: integer.min(0),
    total_pages: integer.min(1),
    first: link,
    last: link,
    next: link.nullable(),
    previous: link.nullable(),
  }),
);

/** A page of a list, with what `include` and `fields` can add to it. */
export function page(name: string, item: z.ZodType, included?: z.ZodRawShape): z.ZodType {
  return named(
    `${name}Page`,
    z.strictObject({
      pagination,
      resources: z.array(item),
      ...(included && { included: z.strictObject(included).partial().optional() }),
    }),
  );
}

/** An object with what `include` can add to it. */
export function including(name: string, schema: z.ZodObject, included: z.ZodRawShape): z.ZodType {
  return named(`${name}WithIncluded`, schema.extend({ included: z.strictObject(included).partial().optional() }));
}

/** The answer of a relationship's own address. */
export function relationship(name: string, data: z.ZodObject, related = false): z.ZodType {
  return named(
    name,
    data.extend({ links: links(["self"], related ? { related: link.optional() } : undefined).optional() }),
  );
}
