// Bounds of foreign JSON: what is counted, what is not, and that the count itself is quick.
import { expect, test } from "vitest";
import { findJsonExcess } from "./json-bounds.ts";

const bounds = { values: 10, depth: 3, members: 4 };

test.each<[string, string, string | undefined]>([
  ["a small object", '{"a":[1,2],"b":{}}', undefined],
  ["marks within strings", JSON.stringify(`${"[{,".repeat(50)}\\"`), undefined],
  ["a string that ends with a backslash", JSON.stringify(["\\", "\\\\", '\\"', '"']), undefined],
  ["too many values", "[1,2,3,4,5,6,7,8,9,0]", "more than 10 values"],
  ["too many empty objects", "[{},{},{},{},{}]", "more than 10 values"],
  ["too many values after a string that looks unfinished", '["\\\\",1,2,3,4,5,6,7,8,9]', "more than 10 values"],
  ["too deep", "[[[[", "more than 3 levels"],
  ["too many members", '{"a":1,"b":2,"c":3,"d":4,"e":5}', "an object with more than 4 members"],
  ["as many members, and more items", '[[1,2,3,4,5],{"a":1}]', undefined],
  ["a string without an end", '"abc', undefined],
  ["nothing", "", undefined],
])("%s", (_, text, excess) => expect(findJsonExcess(text, bounds)).toBe(excess));
