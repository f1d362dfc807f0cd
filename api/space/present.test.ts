// Spaces as CF shows them.
import { expect, test } from "vitest";
import { anOrg, aSpace } from "../../crds/testing/objects.ts";
import { cacheOf } from "../cache/testing/cache-of.ts";
import { presentSpace } from "./present.ts";

test.each<[string, object, object]>([
  ["without a name of its own has its object's", {}, { name: "dev", suspended: false }],
  ["has the CF name of its spec", { name: "Dev of Ann" }, { name: "Dev of Ann" }],
  ["can be suspended", { suspended: true }, { suspended: true }],
])("a space %s", (_what, spec, expected) => {
  expect(presentSpace(cacheOf(anOrg()), aSpace(spec), "https://api")).toMatchObject(expected);
});

test("its org and links", () => {
  expect(presentSpace(cacheOf(anOrg()), aSpace(), "https://api")).toMatchObject({
    guid: "uid-dev",
    relationships: { organization: { data: { guid: "uid-acme" } } },
    links: {
      self: { href: "https://api/v3/spaces/uid-dev" },
      organization: { href: "https://api/v3/organizations/uid-acme" },
      apply_manifest: { href: "https://api/v3/spaces/uid-dev/actions/apply_manifest", method: "POST" },
    },
  });
});
