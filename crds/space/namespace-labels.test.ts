// Labels by which a namespace says where it is.
import { describe, expect, test } from "vitest";
import { mirroredKey, toNamespaceLabels } from "./namespace-labels.ts";

describe("mirrored keys", () => {
  test.each([
    ["team", "org.cupola.dev/team"],
    ["example.com/team", "example.com.org.cupola.dev/team"],
  ])("%s of an org is %s", (key, mirrored) => {
    expect(mirroredKey("org", key)).toBe(mirrored);
  });
});

describe("labels of a namespace", () => {
  test("name the org and the space, and repeat their CF labels", () => {
    const org = { name: "acme", labels: { tier: "gold", "cupola.dev/guid": "o-1" } };
    const space = { name: "prod", labels: { tier: "1" } };
    expect(toNamespaceLabels({ org, space })).toEqual({
      "cupola.dev/org": "acme",
      "org.cupola.dev/tier": "gold",
      "cupola.dev/space": "prod",
      "space.cupola.dev/tier": "1",
    });
  });

  test("of an org alone name no space", () => {
    expect(toNamespaceLabels({ org: { name: "acme" } })).toEqual({ "cupola.dev/org": "acme" });
  });

  test("leave out what Kubernetes takes as no label", () => {
    const long = "a".repeat(64);
    const prefix = "a".repeat(240);
    expect(toNamespaceLabels({ org: { name: long, labels: { [`${prefix}/team`]: "x" } } })).toEqual({});
  });
});
