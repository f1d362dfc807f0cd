// Fields given twice, with their paths.
import { expect, test } from "vitest";
import { duplicateFields } from "./duplicates.ts";

test.each([
  ['{"a":1,"b":{"a":1}}', []],
  ['{"a":1,"a":2}', ['duplicate field "a"']],
  ['{"a":1,"a":2,"a":3}', ['duplicate field "a"']],
  ['{"spec":{"size":1,"x":"{\\"q\\":1}","size":2}}', ['duplicate field "spec.size"']],
  ['{"l":[{"a":1},{"a":1,"a":2}]}', ['duplicate field "l[1].a"']],
  ['{"a":["a","a"],"b":"a"}', []],
])("%s", (text, expected) => {
  expect(duplicateFields(text, JSON.parse(text))).toEqual(expected);
});
