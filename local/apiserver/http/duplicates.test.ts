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
  ['{"a":1, "\\u0061":2}', ['duplicate field "a"']],
  [
    '{"a\\"":1, "a\\"":2, "b\\\\":{"c":[{}, {"d":1,"d":2}]}}',
    ['duplicate field "a\\""', 'duplicate field "b\\\\.c[1].d"'],
  ],
])("%s", (text, expected) => {
  expect(duplicateFields(text, JSON.parse(text))).toEqual(expected);
});

test("a long path is cut, and further faults are not reported", () => {
  const key = "k".repeat(600_000);
  const text = `{"${key}":{${Array.from({ length: 5_000 }, (_, at) => `"${at}":1,"${at}":1`).join()}}}`;
  const faults = duplicateFields(text, JSON.parse(text));
  expect(faults).toHaveLength(100);
  expect(faults[0]).toMatch(/^duplicate field "k{1000}…"$/);
});

test("a deep text costs its length", () => {
  const text = `${'{"a":1,"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
  const faults = duplicateFields(text, {});
  expect(faults).toHaveLength(100);
  expect(Math.max(...faults.map(({ length }) => length))).toBeLessThan(1_100);
});
