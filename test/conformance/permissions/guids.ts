// A GUID is never inherited: whoever creates an object by kubectl cannot give it that of an object that is gone, and a restored backup keeps its GUIDs.
import { beforeAll, describe, expect, test } from "vitest";
import { newGUID } from "../../../crds/guid.ts";
import { eventually } from "../../eventually.ts";
import type { Answer } from "../kubernetes/api.ts";
import { base, makeOrgAndSpace, type GetTestEnv, type TestUser } from "./test-env.ts";

const minutes = (count: number): number => Date.now() + count * 60_000;

export function guidTests(get: GetTestEnv): void {
  describe("GUIDs", () => {
    let namespace: string;
    beforeAll(async () => {
      const home = await makeOrgAndSpace(get(), "guids");
      namespace = home.spaceNamespace;
      // The rights of the role are there once a create is allowed.
      await eventually(async () => expect((await create("space_developer", undefined)).status).toBe(201));
      await eventually(async () => expect((await create("space_developer", newGUID(minutes(-60)))).status).toBe(422));
    }, 60_000);

    const create = (person: TestUser, guid: string | undefined, [plural, kind] = ["apps", "App"]): Promise<Answer> =>
      get()
        .at(person)
        .post(`${base}/namespaces/${namespace}/${plural}?dryRun=All`, {
          apiVersion: "cupola.dev/v1alpha1",
          kind,
          metadata: { name: "copied", ...(guid !== undefined && { labels: { "cupola.dev/guid": guid } }) },
          spec: specs[plural as keyof typeof specs],
        });
    const specs = {
      apps: {},
      serviceinstances: { type: "managed", name: "copied", planRef: { name: "small" } },
      routes: { host: "copied", domainRef: { name: "apps" } },
    };

    test.each<[what: string, guid: () => string | undefined, status: number]>([
      ["none", () => undefined, 201],
      ["one that was made just now", () => newGUID(), 201],
      ["one of a clock that is two minutes slow", () => newGUID(minutes(-2)), 201],
      ["one of a clock that is two minutes fast", () => newGUID(minutes(2)), 201],
      ["one of an object that was made ten minutes ago", () => newGUID(minutes(-10)), 422],
      ["one of a time to come", () => newGUID(minutes(10)), 422],
      ["the uid of an object that kubectl made", () => crypto.randomUUID(), 422],
      ["one that the platform derives from another object", () => "e69c5c5e-3a3f-8e2e-9d8e-0a1b2c3d4e5f", 422],
      ["one with letters in upper case", () => newGUID().toUpperCase(), 422],
      ["no GUID at all", () => "x", 422],
    ])("a developer gives an app %s", async (_what, guid, status) => {
      const answer = await create("space_developer", guid());
      expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
      if (status === 422) expect(answer.text).toContain("remove the label, and the object gets a GUID of its own");
    });

    test("nor does a service instance get that of another, which its broker may still know", async () =>
      expect(
        (await create("space_developer", newGUID(minutes(-10)), ["serviceinstances", "ServiceInstance"])).status,
      ).toBe(422));

    test("a route keeps its GUID in another space", async () =>
      expect((await create("space_developer", newGUID(minutes(-10)), ["routes", "Route"])).status).toBe(201));

    test("who may create claims restores objects with their GUIDs", async () => {
      const guid = newGUID(minutes(-100_000));
      expect((await create("admin", guid)).body).toMatchObject({ metadata: { labels: { "cupola.dev/guid": guid } } });
    });
  });
}
