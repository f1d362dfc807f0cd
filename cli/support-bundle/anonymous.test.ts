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

test("orgs and people with a capital letter, and users of the log of requests, become numbers; kinds stay", () => {
  const anonymizer = newAnonymizer();
  anonymizer.learn('{"name": "Acme"}\n{"endpoint":"GET /v3/apps","user":"Alice"}\n{"name": "Deployment"}');
  expect(anonymizer.hide("Deployment of Acme by Alice")).toBe("Deployment of name-1 by name-2");
});
