// The parts of an OpenAPI document that the generator reads.

export interface Schema {
  type?: string;
  enum?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  nullable?: boolean;
}

interface Operation {
  parameters: { name: string; in: string; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

/** An operation, ready to make requests from. */
export interface FuzzTarget {
  method: string;
  /** `/v3/apps/{guid}`. */
  path: string;
  query: readonly { name: string; schema: Schema }[];
  media?: string;
  body?: Schema;
}

/** All operations of a document. */
export function targetsOf({ paths }: OpenApiDocument): FuzzTarget[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody }]) => {
      const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      return {
        method: method.toUpperCase(),
        path,
        query: parameters.filter((one) => one.in === "query"),
        ...(media && { media, body: content?.schema }),
      } as FuzzTarget;
    }),
  );
}
