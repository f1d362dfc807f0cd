// The Secrets that a detached workload needs after its app.
import { expect, test } from "vitest";
import { LRP } from "../../crds/lrp/lrp.ts";
import { lrpSpec, makeObject } from "../../crds/testing/objects.ts";
import { secretsOf } from "./detached.ts";

test("Secrets of variables, of files, and of the credential by which nodes pull the image", () => {
  const secretKeyRef = { name: "shop-env-0", key: "A" };
  const droplet = { guid: "g", kind: "docker", image: "example.com/x:1", imagePullSecretRef: { name: "shop-pull" } };
  const lrp = makeObject(LRP, "shop-web", {
    spec: lrpSpec({
      env: [
        { name: "A", valueFrom: { secretKeyRef } },
        { name: "B", valueFrom: { secretKeyRef } },
      ],
      serviceFiles: { mountPath: "/etc/f", secretRef: { name: "shop-env-1" }, items: [{ key: "k", path: "a/b" }] },
      droplet,
    }),
  });
  expect(secretsOf(lrp)).toEqual(["shop-env-0", "shop-env-1", "shop-pull"]);
});
