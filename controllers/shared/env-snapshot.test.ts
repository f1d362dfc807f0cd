// No secret value leaves its Secret, and no Secret is read for a user who may not read it.
import { describe, expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import { LABELS } from "../../crds/labels.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { toSecretKey, isSecretAllowed, ENV_KEY, planEnv, snapshotEnv, type SecretObject } from "./env-snapshot.ts";
import { Task } from "../../crds/task/task.ts";
import { anApp, makeObject } from "../../crds/testing/objects.ts";

const key = Buffer.alloc(32, 1);
const env = [
  { name: "COLOR", value: "blue" },
  { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "shop-env", key: "PASSWORD" } } },
];
const value = Buffer.from("hunter2").toString("base64");

describe("planEnv", () => {
  test("a value in clear stays; a secret one is a reference to a Secret named by a keyed digest", () => {
    const planned = planEnv({ app: "shop" }, env, new Map([["PASSWORD", value]]), key);
    expect(planned.secret).toEqual({
      name: expect.stringMatching(/^shop-env-[0-9a-f]{16}$/) as string,
      data: { PASSWORD: value },
    });
    expect(planned.env).toEqual([
      { name: "COLOR", value: "blue" },
      { name: "PASSWORD", valueFrom: { secretKeyRef: { name: planned.secret?.name, key: "PASSWORD" } } },
    ]);
    expect(JSON.stringify(planned.env)).not.toContain(value);
  });

  test("the same values give the same name; other values, another key or another app another", () => {
    const name = (app: string, secret: string, with_: Uint8Array): string | undefined =>
      planEnv({ app }, env, new Map([["PASSWORD", secret]]), with_).secret?.name;
    expect(name("shop", value, key)).toBe(name("shop", value, key));
    expect(name("shop", "eA==", key)).not.toBe(name("shop", value, key));
    expect(name("shop", value, Buffer.alloc(32, 2))).not.toBe(name("shop", value, key));
    expect(name("shop2", value, key)?.slice(-16)).not.toBe(name("shop", value, key)?.slice(-16));
    expect(name("a".repeat(40), value, key)?.length).toBeLessThanOrEqual(52);
  });

  test("a task's snapshot has a name of its own, so that it can go with the task", () => {
    const name = (scope?: string): string | undefined =>
      planEnv({ app: "shop", scope }, env, new Map([["PASSWORD", value]]), key).secret?.name;
    expect(name("task-1")).toBe(name("task-1"));
    expect(new Set([name(), name("task-1"), name("task-2")]).size).toBe(3);
  });

  test("no secret, no Secret", () =>
    expect(planEnv({ app: "shop" }, env.slice(0, 1), new Map(), key)).toEqual({ env: env.slice(0, 1) }));
});

test.each([
  ["PASSWORD", "PASSWORD"],
  ["a.b-c_d", "a.b-c_d"],
  ["with space", `x-${Buffer.from("with space").toString("hex")}`],
  ["..", `x-${Buffer.from("..").toString("hex")}`],
  ["__proto__", `x-${Buffer.from("__proto__").toString("hex")}`],
  ["__proto__s", "__proto__s"],
])("%s is kept as %s", (name, expected) => {
  expect(toSecretKey(name)).toBe(expected);
});

test.each<[string, string, Record<string, string>, boolean]>([
  ["the app's own", "shop-env", { [LABELS.app]: "guid" }, true],
  ["one that only has its name", "shop-env", {}, false],
  ["that of an app of this name before", "shop-env", { [LABELS.app]: "older" }, false],
  ["one labelled for it", "shared", { [LABELS.envAllowed]: "allowed" }, true],
  ["any other", "db-admin", {}, false],
])("%s is allowed: %#", (_what, name, labels, expected) => {
  expect(isSecretAllowed({ metadata: { name, labels } } as unknown as SecretObject, "shop", "guid")).toBe(expected);
});

describe("names that objects have of their own accord", () => {
  const taking = (variable: string): App =>
    anApp({ env: [{ name: variable, valueFrom: { secretKeyRef: { name: "shop-env", key: variable } } }] });
  /** A client with the app's own Secret; Secrets that are created go to `made`. */
  const clientOf = (data: object, made: SecretObject[]): KubeClient =>
    ({
      find: (_ref: unknown, { name }: { name: string }) =>
        Promise.resolve(
          name === "shop-env"
            ? { metadata: { name, labels: { [LABELS.app]: "guid" } }, data }
            : name === ENV_KEY.secretName
              ? { metadata: { name }, data: { key: Buffer.from(key).toString("base64") } }
              : undefined,
        ),
      create: (_ref: unknown, secret: SecretObject) => Promise.resolve(made.push(secret)),
    }) as unknown as KubeClient;

  test.each(["constructor", "toString", "__proto__"])("the variable %s is kept", async (name) => {
    const made: SecretObject[] = [];
    const { env } = await snapshotEnv(taking(name), "guid", clientOf(Object.fromEntries([[name, value]]), made));
    expect(env).toEqual([
      { name, valueFrom: { secretKeyRef: { name: made[0]?.metadata.name, key: toSecretKey(name) } } },
    ]);
    expect(made.map(({ data }) => data)).toEqual([{ [toSecretKey(name)]: value }]);
  });

  test("of a task is owned by the task, which is deleted one day; the app's by the app", async () => {
    const owners = async (task?: Task): Promise<unknown> => {
      const made: SecretObject[] = [];
      await snapshotEnv(taking("A"), "guid", clientOf({ A: value }, made), task);
      return made[0]?.metadata.ownerReferences;
    };
    const task = makeObject(Task, "t1", { spec: { appRef: { name: "shop" }, command: "x" } });
    expect(await owners(task)).toMatchObject([{ kind: "Task", name: "t1", uid: task.metadata.uid }]);
    expect(await owners()).toMatchObject([{ kind: "App", name: "shop" }]);
  });

  test.each(["constructor", "toString", "__proto__"])("a Secret without %s has no such key", async (name) => {
    await expect(snapshotEnv(taking(name), "guid", clientOf({}, []))).rejects.toMatchObject({
      reason: "SecretMissing",
    });
  });
});
