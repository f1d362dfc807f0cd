// The same number for the same name, in all files.
import { expect, test } from "vitest";
import { newAnonymizer } from "./anonymous.ts";

test("names become numbers, also inside of paths and hosts; words of the platform stay", () => {
  const anonymizer = newAnonymizer();
  anonymizer.learn('{"kind": "App", "name": "shop", "namespace": "acme-dev"}\n{"name": "cupola-api"}');
  expect(anonymizer.hide("App acme-dev/shop and shop.web by cupola-api in shops")).toBe(
    "App name-2/name-1 and name-1.web by cupola-api in shops",
  );
});
