// Labels by which a namespace says where it is.
import { describe, expect, test } from "vitest";
import { isMirroredKey, listUnmirroredKeys, mirroredKey, toNamespaceLabels } from "./namespace-labels.ts";

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

  test("leave out a key whose prefix would be too long for Kubernetes, and it is known", () => {
    const longest = "a".repeat(253 - ".space.cupola.dev".length);
    const space = {
      name: "dev",
      labels: { [`${longest}/team`]: "x", [`${longest}b/team`]: "y", "cupola.dev/guid": "g" },
    };
    expect(toNamespaceLabels({ space })).toEqual({
      "cupola.dev/space": "dev",
      [`${longest}.space.cupola.dev/team`]: "x",
    });
    expect(listUnmirroredKeys("space", space)).toEqual([`${longest}b/team`]);
  });

  test("are bounded, whatever kubectl wrote on the object", () => {
    const keys = Array.from({ length: 1000 }, (_, at) => `key-${String(at).padStart(3, "0")}`);
    const space = { name: "dev", labels: Object.fromEntries(keys.map((key) => [key, "x"])) };
    expect(Object.keys(toNamespaceLabels({ space }))).toHaveLength(101);
    expect(listUnmirroredKeys("space", space)).toEqual(keys.slice(100));
  });

  test("keep the beginning of a name that is too long for a value, and tell two of them apart", () => {
    const labelOf = (name: string): string => toNamespaceLabels({ space: { name } })["cupola.dev/space"] ?? "";
    const [one, other] = [labelOf(`prod-${"a".repeat(70)}`), labelOf(`prod-${"a".repeat(71)}`)];
    expect(labelOf("a".repeat(63))).toBe("a".repeat(63));
    expect(one).toMatch(/^prod-a+-[0-9a-f]{10}$/);
    expect(one.length).toBeLessThanOrEqual(63);
    expect(one).not.toBe(other);
  });
});

test.each([
  ["org.cupola.dev/team", true],
  ["example.com.space.cupola.dev/team", true],
  ["cupola.dev/org", false],
  ["myorg.cupola.dev/team", false],
  ["org.cupola.dev", false],
  ["org.cupola.dev.example.com/team", false],
])("%s on a namespace is a mirrored label: %s", (key, expected) => {
  expect(isMirroredKey(key)).toBe(expected);
});
