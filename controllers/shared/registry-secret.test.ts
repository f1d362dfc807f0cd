// The pull Secret of a space: copied from the system namespace, corrected, and left alone where it is somebody else's.
import { describe, expect, test } from "vitest";
import type { App } from "../../crds/app/app.ts";
import type { Secret } from "../../kube/api/builtin.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { isSecretAllowed } from "../shared/env-snapshot.ts";
import { planCopy } from "./registry-secret.ts";

const NAME = "cupola-registry";
const ours = { "cupola.dev/managed-by": "registry-secret" };

function secret(data: Record<string, string>, labels: Record<string, string> = {}): ObjectOf<typeof Secret> {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: NAME, labels }, data };
}

const source = secret({ ".dockerconfigjson": "e30=" });

describe("the pull Secret of a space", () => {
  test.each<[string, ObjectOf<typeof Secret> | undefined, ReturnType<typeof planCopy>]>([
    ["is created", undefined, "create"],
    ["is left as it is", secret({ ".dockerconfigjson": "e30=" }, ours), undefined],
    ["follows the original", secret({ ".dockerconfigjson": "old" }, ours), "patch"],
    ["loses what the original has not", secret({ ".dockerconfigjson": "e30=", more: "x" }, ours), "patch"],
    ["is not ours to change without our label", secret({ ".dockerconfigjson": "old" }), undefined],
  ])("%s", (_what, copy, expected) => expect(planCopy(source, copy)).toBe(expected));

  test("is no Secret that an app's environment may name, whatever the app is called", () => {
    const copy = secret({}, ours);
    for (const app of ["cupola", "cupola-registry"] satisfies App["metadata"]["name"][])
      expect(isSecretAllowed(copy, app, "app-guid")).toBe(false);
  });
});
