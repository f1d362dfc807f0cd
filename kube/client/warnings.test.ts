// Warning headers as kube-apiserver and the embedded server send them.
import { expect, test } from "vitest";
import { parseWarnings } from "./warnings.ts";

test.each<[string | string[] | undefined, string[]]>([
  [undefined, []],
  ['299 - "old"', ["old"]],
  ['299 - "a, b", 299 kube "say \\"c\\" \\\\ d"', ["a, b", 'say "c" \\ d']],
  [
    ['299 - "one"', '299 - "two"'],
    ["one", "two"],
  ],
  ["nonsense", []],
])("%j has the texts %j", (header, texts) => {
  expect(parseWarnings(header)).toEqual(texts);
});
