// Parameters of lists as CF reads them: what is ignored, what matches nothing, what is refused, in its words.
import { expect, test } from "vitest";
import { z } from "zod";
import { booleanText, csvOf, embed, include, listQuery, oneOf, orderBy, rawQuery } from "./query.ts";
import { parseQuery } from "./validation.ts";

const schema = listQuery(
  {
    states: csvOf("STAGED", "FAILED").optional(),
    include: include("space", "org").optional(),
    embed: embed("process_instances").optional(),
    enabled: booleanText.optional(),
    lifecycle_type: oneOf(["buildpack", "cnb"], (text) => `Invalid lifecycle_type: '${text}'`).optional(),
  },
  { orders: ["name"] },
);
const parse = (query: string): object => parseQuery(schema, rawQuery(`?${query}`), "BadQueryParameter");

test.each([
  ["order_by=", { order_by: undefined }],
  ["order_by=%20", { order_by: undefined }],
  ["order_by=-name", { order_by: "-name" }],
  ["page=07", { page: 7 }],
  ["states=", { states: [""] }],
  ["states=STAGED,NONE", { states: ["STAGED", "NONE"] }],
  ["guids=", { guids: [""] }],
  ["include=space,org", { include: ["space", "org"] }],
  ["enabled=false", { enabled: false }],
])("%s is taken", (query, taken) => {
  expect(parse(query)).toMatchObject({ page: 1, per_page: 50, ...taken });
});

test.each([
  ["order_by=nope", "Order by can only be: 'created_at', 'updated_at', 'name'"],
  ["page=", "Page must be a positive integer"],
  ["per_page=0", "Per page must be a positive integer"],
  ["per_page=5001", "Per page must be between 1 and 5000"],
  ["include=", "Invalid included resource: ''. Valid included resources are: 'space', 'org'"],
  ["include=org,org", "Duplicate included resource: 'org'"],
  ["embed=x", "Invalid embedded resource: 'x'. Valid embedded resources are: 'process_instances'"],
  ["enabled=", "Enabled must be 'true' or 'false'"],
  ["lifecycle_type=", "Invalid lifecycle_type: ''"],
  ["label_selector=", "Missing label_selector value"],
  ["created_ats=", "Created ats has an invalid timestamp format"],
])("%s is refused", (query, detail) => {
  expect(() => parse(query)).toThrow(detail);
});

test("a list may have orders of its own", () => {
  expect(() =>
    parseQuery(z.strictObject({ order_by: orderBy("name") }), { order_by: "x" }, "BadQueryParameter"),
  ).toThrow("Order by can only be: 'name'");
});
