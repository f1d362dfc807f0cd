// Running things count against the quotas until they are gone: nobody in a space lets an app, a process or a task stay behind its deletion, nor anything else
// hold the space.
import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { base, makeOrgAndSpace, type GetTestEnv, type TestUser } from "./test-env.ts";

const KINDS: [kind: string, plural: string, suffix: string, specOf: (name: string) => Json][] = [
  ["App", "apps", "", () => ({})],
  ["Process", "processes", ".web", (name) => ({ appRef: { name }, type: "web", memoryMB: 64 })],
  ["Task", "tasks", "", (name) => ({ appRef: { name }, command: "true" })],
];

/** Kinds that run nothing, but would hold their space. */
const HOLDING: [kind: string, plural: string, spec: Json][] = [
  ["Route", "routes", { host: "held", domainRef: { name: "apps.example" } }],
  ["ServiceInstance", "serviceinstances", { type: "user-provided" }],
];

const refused = async (answer: Promise<Answer>): Promise<void> =>
  expect([(await answer).status, (await answer).body.message]).toEqual([
    403,
    expect.stringMatching(/only admins may (add a finalizer|delete an app, a process or a task with orphans)/),
  ]);

export function lifetimeTests(get: GetTestEnv): void {
  describe.each(KINDS)("the lifetime of a %s", (kind, plural, suffix, specOf) => {
    let path: string;
    beforeAll(async () => {
      const { spaceNamespace } = await makeOrgAndSpace(get(), `lifetimes-${plural}`);
      path = `${base}/namespaces/${spaceNamespace}/${plural}`;
      await eventually(async () =>
        expect((await create("space_developer", "try", [], "?dryRun=All")).status).toBe(201),
      );
    }, 60_000);

    const create = (person: TestUser, name: string, finalizers: string[], query = ""): Promise<Answer> =>
      get()
        .at(person)
        .post(`${path}${query}`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind,
          metadata: { name: `${name}${suffix}`, ...(finalizers.length > 0 && { finalizers }) },
          spec: specOf(name),
        });
    const setFinalizers = (name: string, finalizers: string[]): Promise<Answer> =>
      get().at("space_developer").patch("merge", `${path}/${name}${suffix}`, { metadata: { finalizers } });
    test.each(["guest.example/stay", "cupola.dev/stay", "orphan"])("a developer adds no finalizer %s", async (name) => {
      await refused(create("space_developer", "held", [name], "?dryRun=All"));
      await create("space_developer", "held", []);
      await refused(setFinalizers("held", [name]));
    });

    test("a developer leaves those that are there, and removes them", async () => {
      expect((await create("admin", "audited", ["admin.example/audit"])).status).toBe(201);
      await refused(setFinalizers("audited", ["admin.example/audit", "guest.example/stay"]));
      const labels = { metadata: { labels: { a: "b" } } };
      expect((await get().at("space_developer").patch("merge", `${path}/audited${suffix}`, labels)).status).toBe(200);
      expect((await setFinalizers("audited", [])).status).toBe(200);
    });

    test.each<[string, Json]>([
      ["Orphan", { propagationPolicy: "Orphan" }],
      ["orphanDependents", { orphanDependents: true }],
    ])("a developer deletes none and keeps what it runs: %s", async (_name, options) => {
      await create("space_developer", "left", []);
      await refused(
        get()
          .at("space_developer")
          .delete(`${path}/left${suffix}`, { apiVersion: "v1", kind: "DeleteOptions", ...options }),
      );
    });

    test.each(["Foreground", "Background"])("a developer deletes in the %s", async (propagationPolicy) => {
      const name = `gone-${propagationPolicy.toLowerCase()}`;
      await create("space_developer", name, []);
      const options = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy };
      expect((await get().at("space_developer").delete(`${path}/${name}${suffix}`, options)).status).toBe(200);
    });
  });

  test.each(HOLDING)("a developer adds no finalizer to a %s", async (kind, plural, spec) => {
    const { spaceNamespace } = await makeOrgAndSpace(get(), `holding-${plural}`);
    const path = `${base}/namespaces/${spaceNamespace}/${plural}`;
    const create = (name: string, finalizers?: string[]): Promise<Answer> =>
      get()
        .at("space_developer")
        .post(path, { apiVersion: "cupola.dev/v1alpha1", kind, metadata: { name, finalizers }, spec });
    await eventually(async () => expect((await create("held")).status).toBe(201));
    await refused(create("other", ["guest.example/stay"]));
    const finalizers = { metadata: { finalizers: ["guest.example/stay"] } };
    await refused(get().at("space_developer").patch("merge", `${path}/held`, finalizers));
  });

  test("an org manager adds no finalizer to a Space", async () => {
    const { orgNamespace } = await makeOrgAndSpace(get(), "holding-spaces");
    const path = `${base}/namespaces/${orgNamespace}/spaces`;
    const { body } = await get().kubernetes.get(path);
    const finalizers = [...(body.items[0].metadata.finalizers ?? []), "guest.example/stay"];
    await refused(
      get()
        .at("organization_manager")
        .patch("merge", `${path}/${body.items[0].metadata.name}`, { metadata: { finalizers } }),
    );
  });
}
