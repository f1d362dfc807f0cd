// The types of a row follow from its path and schemas.
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { endpoint, noContent } from "./endpoint.ts";

test("path parameters, query and body are typed from the row", () => {
  endpoint({
    method: "PATCH",
    path: "/v3/apps/:guid/processes/:type",
    permission: "authenticated",
    query: z.object({ page: z.number() }),
    body: z.object({ name: z.string() }),
    handler: ({ params, query, body }) => {
      expectTypeOf(params).toEqualTypeOf<Record<"guid" | "type", string>>();
      expectTypeOf(query).toEqualTypeOf<{ page: number }>();
      expectTypeOf(body).toEqualTypeOf<{ name: string }>();
      return noContent();
    },
  });
});
