// The annotations of imported objects: they say whose GUIDs and times an object shows, and keep controllers away, so nobody but an import sets them.
import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { binding } from "./roles.ts";
import { base, makeOrgAndSpace, type GetTestEnv, type TestUser } from "./test-env.ts";

const KEYS = ["importing", "original-uid", "original-created", "original-updated"] as const;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

const annotated = (object: Json, key: string, value = "x"): Json => ({
  ...object,
  metadata: { ...(object["metadata"] as object), annotations: { [`cupola.dev/${key}`]: value } },
});

export function originTests(get: GetTestEnv): void {
  describe("origins", () => {
    let namespace: string;
    const app = (name: string): Json => ({
      apiVersion: "cupola.dev/v1alpha1",
      kind: "App",
      metadata: { name },
      spec: {},
    });
    const create = (person: TestUser, object: Json): Promise<Answer> =>
      get().at(person).post(`${base}/namespaces/${namespace}/apps`, object);
    const bind = (person: TestUser, object: Json): Promise<Answer> =>
      get().at(person).post(`${RBAC}/namespaces/${namespace}/rolebindings?dryRun=All`, object);

    beforeAll(async () => {
      namespace = (await makeOrgAndSpace(get(), "origins")).spaceNamespace;
      await eventually(async () => expect((await create("space_developer", app("own"))).status).toBe(201));
      const forged = annotated(app("forged"), "importing");
      await eventually(async () => expect((await create("space_developer", forged)).status).toBe(403));
      expect((await create("admin", annotated(app("imported"), "original-uid"))).status).toBe(201);
    }, 60_000);

    const patch = (name: string, key: string, value: string | null): Promise<Answer> =>
      get()
        .at("space_developer")
        .patch(
          "merge",
          `${base}/namespaces/${namespace}/apps/${name}`,
          annotated({ metadata: {} }, key, value as string),
        );

    test.each(KEYS)("a developer neither creates an object with %s nor adds it", async (key) => {
      expect((await create("space_developer", annotated(app(`with-${key}`), key))).status).toBe(403);
      expect((await patch("own", key, "x")).status).toBe(403);
      // An empty value is a value.
      expect((await create("space_developer", annotated(app(`empty-${key}`), key, ""))).status).toBe(403);
      expect((await patch("own", key, "")).status).toBe(403);
    });

    test("a developer changes and removes none, and may change the rest", async () => {
      expect((await patch("imported", "original-uid", "y")).status).toBe(403);
      expect((await patch("imported", "original-uid", null)).status).toBe(403);
      const labelled = await get()
        .at("space_developer")
        .patch("merge", `${base}/namespaces/${namespace}/apps/imported`, { metadata: { labels: { team: "a" } } });
      expect(labelled.status, labelled.text).toBe(200);
    });

    test("a manager gives no role the GUID of another", async () => {
      const role = binding("mine", "cupola-space-developer", ["somebody"]);
      expect((await bind("space_manager", role)).status).toBe(201);
      expect((await bind("space_manager", annotated(role, "original-uid"))).status).toBe(403);
    });
  });
}
