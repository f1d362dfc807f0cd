// Which names the webhook refuses, and which doubtful ones it allows.
import { describe, expect, test } from "vitest";
import { App } from "../../crds/app/app.ts";
import { appName, newClaim } from "../../crds/claim/rules.ts";
import { API_FIELD_MANAGER, GROUP } from "../../crds/groups.ts";
import type { AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { KubeObject, ObjectKey } from "../../kube/api/object.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { NotSynced } from "../../kube/cache/errors.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { OPERATIONS, CLUSTER_OPERATIONS, LOCAL_OPERATIONS } from "./operations.ts";
import { reviewName } from "./name-webhook.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const app = (name: string, cfName: string): App =>
  ({
    apiVersion: `${GROUP}/v1alpha1`,
    kind: "App",
    metadata: { namespace: "dev", name },
    spec: { name: cfName },
  }) as unknown as App;
const claimOf = (held: App): KubeObject =>
  newClaim(appName(held), { kind: "App", namespace: "dev", name: held.metadata.name }, NOW);

function reader(objects: readonly KubeObject[]): Reader {
  const find = (ref: ResourceRef, { namespace, name }: ObjectKey) =>
    objects.find(
      ({ kind, metadata }) => kind === ref.kind && metadata.namespace === namespace && metadata.name === name,
    );
  return { find } as unknown as Reader;
}

const asked = (object: App, more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: "u",
  kind: { group: GROUP, version: App.version, kind: "App" },
  operation: "CREATE",
  namespace: "dev",
  object,
  user: { name: "ann", groups: [] },
  ...more,
});

const shop = app("shop", "Shop");
const seen = [shop, claimOf(shop)];

describe("a name is refused", () => {
  test("when another object holds its claim, in any spelling", async () => {
    expect(await reviewName(asked(app("other", "SHOP")), reader(seen))).toMatchObject({ allowed: false, code: 422 });
    expect(
      await reviewName(
        asked(app("other", "shop"), { operation: "UPDATE", oldObject: app("other", "kiosk") }),
        reader(seen),
      ),
    ).toMatchObject({ allowed: false });
  });

  test("without naming the holder", async () => {
    const verdict = await reviewName(
      asked(app("other", "shop")),
      reader([app("hidden-object", "Shop"), claimOf(app("hidden-object", "Shop"))]),
    );
    expect(JSON.stringify(verdict)).toContain("taken");
    expect(JSON.stringify(verdict)).not.toContain("hidden-object");
  });

  test.each<[string, AdmissionRequest, KubeObject[]]>([
    ["nobody has claimed it", asked(app("other", "kiosk")), seen],
    ["the claim is its own, taken before it was created", asked(shop), [claimOf(shop)]],
    ["the claim's object is not there (yet)", asked(app("other", "shop")), [claimOf(shop)]],
    [
      "the claim's object bears another name by now",
      asked(app("other", "shop")),
      [app("shop", "kiosk"), claimOf(shop)],
    ],
    [
      "an update keeps a name, even a contested one",
      asked(app("other", "shop"), { operation: "UPDATE", oldObject: app("other", "shop") }),
      seen,
    ],
    ["the API writes it", asked(app("other", "shop"), { fieldManager: API_FIELD_MANAGER }), seen],
    [
      "names of the kind are free",
      asked(app("other", "shop"), { kind: { group: GROUP, version: "v1alpha1", kind: "Build" } }),
      seen,
    ],
    [
      "the kind is of another group",
      asked(app("other", "shop"), { kind: { group: "example.org", version: "v1", kind: "App" } }),
      seen,
    ],
    ["there is no object", { ...asked(shop), object: undefined }, seen],
  ])("not when %s", async (_, request, objects) => {
    expect(await reviewName(request, reader(objects))).toEqual({ allowed: true });
  });

  test("not before the caches have synced: the API server admits when the review fails", async () => {
    const blind = {
      find: () => {
        throw new NotSynced("claims.cupola.dev");
      },
    } as unknown as Reader;
    await expect(reviewName(asked(shop), blind)).rejects.toThrow(NotSynced);
  });
});

test("the webhook runs where it is asked for, never by default", () => {
  expect(OPERATIONS).toHaveProperty("webhook");
  expect([...CLUSTER_OPERATIONS, ...LOCAL_OPERATIONS]).not.toContain("webhook");
});
