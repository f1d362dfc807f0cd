// Bounds of foreign JSON: what is counted, what is not, and that the count itself is quick.
import { expect, test } from "vitest";
import { findExcess } from "./json-bounds.ts";

const bounds = { values: 10, depth: 3 };

test.each<[string, string, string | undefined]>([
  ["a small object", '{"a":[1,2],"b":{}}', undefined],
  ["marks within strings", JSON.stringify(`${"[{,".repeat(50)}\\"`), undefined],
  ["a string that ends with a backslash", JSON.stringify(["\\", "\\\\", '\\"', '"']), undefined],
  ["too many values", "[1,2,3,4,5,6,7,8,9,0]", "more than 10 values"],
  ["too many empty objects", "[{},{},{},{},{}]", "more than 10 values"],
  ["too many values after a string that looks unfinished", '["\\\\",1,2,3,4,5,6,7,8,9]', "more than 10 values"],
  ["too deep", "[[[[", "more than 3 values within each other"],
  ["a string without an end", '"abc', undefined],
  ["nothing", "", undefined],
])("%s", (_, text, excess) => expect(findExcess(Buffer.from(text), bounds)).toBe(excess));
