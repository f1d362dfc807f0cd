// Names and sizes of an app's variables, and access to their values.
import { expect, test } from "vitest";
import type { App } from "../../../crds/app/app.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { CFError } from "../../http/errors.ts";
import type { Session } from "../../access/session.ts";
import { anyVariablesSchema, readVariables, variablesSchema, writeVariables } from "./app-env.ts";

test.each<[string, string | undefined]>([
  ["A", undefined],
  ["a.b-c d", undefined],
  ["PORTS", undefined],
  ["XVCAP_A", undefined],
  ["port", "cannot set PORT"],
  ["Vcap_x", "cannot start with VCAP_"],
  ["VMC_X", "cannot start with VMC_"],
  ["", "minimum length of 1"],
  ["x".repeat(256), "too long"],
])("the name %s", (name, problem) => {
  const message = variablesSchema.safeParse({ [name]: "x" }).error?.issues[0]?.message;
  if (problem) expect(message).toMatch(problem);
  else expect(message).toBeUndefined();
});

test("a new app's variables may be any JSON, stored as text", () => {
  expect(anyVariablesSchema.parse({ A: 1, B: true, C: null, D: { e: [1] }, F: "f" })).toEqual({
    A: "1",
    B: "true",
    C: "",
    D: '{"e":[1]}',
    F: "f",
  });
  expect(variablesSchema.safeParse({ A: 1 }).success).toBe(false);
});

/** A session in which `may` is allowed, with a Secret of the app whose GUID is `owner`, and what was written. */
function bench(
  may: readonly string[],
  values: Record<string, string>,
  env: object[] = Object.keys(values).map((name) => ({
    name,
    valueFrom: { secretKeyRef: { name: "app-env", key: name } },
  })),
  owner = "guid",
) {
  const data = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
  );
  const app = { metadata: { name: "app", namespace: "ns" }, spec: { env } } as unknown as App;
  const written: { secret: object[]; app: object[] } = { secret: [], app: [] };
  const platform = {
    find: (ref: unknown) =>
      Promise.resolve(
        ref === Secret ? { metadata: { name: "app-env", labels: { "cupola.dev/app-guid": owner } }, data } : undefined,
      ),
    patch: (_ref: unknown, _key: unknown, patch: { body: object }) => Promise.resolve(written.secret.push(patch.body)),
  } as unknown as KubeClient;
  const session = {
    platformClient: platform,
    rehearse: () => Promise.resolve([]),
    cache: { guid: () => "guid", store: () => ({ find: () => undefined }) },
    authorize: ({ verb }: { verb: string }) => {
      if (!may.includes(verb)) throw new CFError("NotAuthorized");
    },
    patchWithRetry: (_ref: unknown, current: App, body: (current: App) => object) => (
      written.app.push(body(current)),
      Promise.resolve(current)
    ),
  } as unknown as Session;
  return { session, app, written };
}

test("reading values needs get on apps/env, and only reads the app's own Secret", async () => {
  const foreign = [
    { name: "OWN", valueFrom: { secretKeyRef: { name: "app-env", key: "OWN" } } },
    { name: "THEIRS", valueFrom: { secretKeyRef: { name: "other", key: "OWN" } } },
    { name: "PLAIN", value: "p" },
  ];
  const { session, app } = bench(["get"], { OWN: "o" }, foreign);
  expect(await readVariables(session, app)).toEqual({ OWN: "o", THEIRS: "", PLAIN: "p" });
  await expect(readVariables(bench(["update"], {}).session, app)).rejects.toThrow("not authorized");
});

test("a Secret of the right name with another app's GUID is neither read nor written", async () => {
  const { session, app, written } = bench(
    ["get", "update"],
    { OWN: "o" },
    [{ name: "OWN", valueFrom: { secretKeyRef: { name: "app-env", key: "OWN" } } }],
    "another",
  );
  expect(await readVariables(session, app)).toEqual({ OWN: "" });
  await expect(writeVariables(session, app, { OWN: "mine" })).rejects.toThrow("is not this app's own");
  expect(written).toEqual({ secret: [], app: [] });
});

test("setting needs only update; the size limit includes existing values that the caller may not read", async () => {
  const full = bench(["update"], { A: "x".repeat(400 * 1024) });
  await expect(writeVariables(full.session, full.app, { B: "x".repeat(200 * 1024) })).rejects.toThrow(
    "524288 bytes together",
  );
  expect(full.written).toEqual({ secret: [], app: [] });
  await writeVariables(full.session, full.app, { A: null, B: "x".repeat(200 * 1024) });
  expect(full.written.secret).toHaveLength(1);
  const reader = bench(["get"], {});
  await expect(writeVariables(reader.session, reader.app, { A: "1" })).rejects.toThrow("not authorized");
});

test("values go to the Secret, names to the App; unchanged ones are not written", async () => {
  const { session, app, written } = bench(["update"], { A: "1", B: "2" });
  await writeVariables(session, app, { A: "1", C: null });
  expect(written).toEqual({ secret: [], app: [] });
  await writeVariables(session, app, { A: "1", B: "3", "odd name": "x" });
  const [{ data } = { data: {} }] = written.secret as { data: Record<string, string> }[];
  expect(Object.entries(data)).toEqual([
    ["B", Buffer.from("3").toString("base64")],
    [expect.stringMatching(/^[-._a-zA-Z0-9]+$/), Buffer.from("x").toString("base64")],
  ]);
  expect(JSON.stringify(written.app)).not.toContain('"3"');
  expect((written.app[0] as { spec: { env: { name: string }[] } }).spec.env.map(({ name }) => name)).toEqual([
    "A",
    "B",
    "odd name",
  ]);
});

const inherited = ["constructor", "toString", "valueOf"];

test.each(inherited)("a variable named %s is kept when another one is set", async (name) => {
  const { session, app, written } = bench(["get", "update"], { [name]: "mine", A: "1" });
  await writeVariables(session, app, { A: "2" });
  expect((written.app[0] as { spec: { env: { name: string }[] } }).spec.env.map((one) => one.name)).toEqual([
    name,
    "A",
  ]);
  expect(await readVariables(session, app)).toEqual({ [name]: "mine", A: "1" });
});

test.each(inherited)("a variable named %s that is missing from the Secret reads as empty", async (name) => {
  const { session, app } = bench(["get"], {}, [{ name, valueFrom: { secretKeyRef: { name: "app-env", key: name } } }]);
  expect(await readVariables(session, app)).toEqual({ [name]: "" });
});
