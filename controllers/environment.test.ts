// No secret value leaves its Secret, and no Secret is read for somebody who may not.
import { describe, expect, test } from "vitest";
import { LABELS } from "../crds/labels.ts";
import { dataKey, isAllowed, planEnv, type SecretObject } from "./environment.ts";

const key = Buffer.alloc(32, 1);
const env = [
  { name: "COLOR", value: "blue" },
  { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env", key: "PASSWORD" } } },
];
const value = Buffer.from("hunter2").toString("base64");

describe("planEnv", () => {
  test("a value in clear stays; a secret one is a reference to a Secret named by a keyed digest", () => {
    const planned = planEnv("shop", env, { PASSWORD: value }, key);
    expect(planned.secret).toEqual({ name: expect.stringMatching(/^shop-env-[0-9a-f]{16}$/) as string, data: { PASSWORD: value } });
    expect(planned.env).toEqual([{ name: "COLOR", value: "blue" }, { name: "PASSWORD", valueFrom: { secretKeyRef: { name: planned.secret?.name, key: "PASSWORD" } } }]);
    expect(JSON.stringify(planned.env)).not.toContain(value);
  });

  test("the same values give the same name; other values, another key or another app another", () => {
    const name = (app: string, secret: string, with_: Uint8Array): string | undefined => planEnv(app, env, { PASSWORD: secret }, with_).secret?.name;
    expect(name("shop", value, key)).toBe(name("shop", value, key));
    expect(name("shop", "eA==", key)).not.toBe(name("shop", value, key));
    expect(name("shop", value, Buffer.alloc(32, 2))).not.toBe(name("shop", value, key));
    expect(name("shop2", value, key)?.slice(-16)).not.toBe(name("shop", value, key)?.slice(-16));
    expect(name("a".repeat(40), value, key)?.length).toBeLessThanOrEqual(52);
  });

  test("no secret, no Secret", () => expect(planEnv("shop", env.slice(0, 1), {}, key)).toEqual({ env: env.slice(0, 1) }));
});

test.each([["PASSWORD", "PASSWORD"], ["a.b-c_d", "a.b-c_d"], ["with space", `x-${Buffer.from("with space").toString("hex")}`], ["..", `x-${Buffer.from("..").toString("hex")}`]])("%s is kept as %s", (name, expected) => {
  expect(dataKey(name)).toBe(expected);
});

test.each<[string, string, Record<string, string>, boolean]>([
  ["the app's own", "shop-env", { [LABELS.app]: "guid" }, true],
  ["one that only has its name", "shop-env", {}, false],
  ["that of an app of this name before", "shop-env", { [LABELS.app]: "older" }, false],
  ["one labelled for it", "shared", { [LABELS.envAllowed]: "allowed" }, true],
  ["any other", "db-admin", {}, false],
])("%s is allowed: %#", (_what, name, labels, expected) => {
  expect(isAllowed({ metadata: { name, labels } } as unknown as SecretObject, "shop", "guid")).toBe(expected);
});
