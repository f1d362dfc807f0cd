// When a droplet's file becomes an image, and what is said while it does not.
import { expect, test } from "vitest";
import { BlobStoreUnavailable } from "../../blobs/blob-store.ts";
import { UnusableImage } from "../../blobs/registry/images/launcher-layer.ts";
import type { MakeDropletImage } from "../../blobs/registry/images/make-droplet-image.ts";
import { ImageNotFound } from "../../blobs/registry/registry-error.ts";
import type { BackendClass } from "../../crds/backend-class/backend-class.ts";
import { toDropletCapabilities } from "../../crds/backend-class/droplet-place.ts";
import type { Droplet } from "../../crds/droplet/droplet.ts";
import { guidOf } from "../../crds/guid.ts";
import { REGISTRY_SECRET } from "../../crds/registry-secret.ts";
import { aDroplet } from "../../crds/testing/objects.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { reconcileImage } from "./droplet-image.ts";

const DIGEST = `sha256:${"c".repeat(64)}`;
const IMAGE = "registry.example/apps@sha256:a";
const images = { runImage: "run", builderImage: "builder" };
const capabilities = { ...toDropletCapabilities(images, { uid: 1, gid: 1 }), platformAPI: "0.14" };
const builder = { status: { capabilities } } as unknown as BackendClass;
const droplet = aDroplet({ kind: "host", content: { digest: DIGEST, size: 1 }, processTypes: { web: "" } }, "d");

function reconcile(
  makeImage: MakeDropletImage | undefined,
  { classes = [builder], hasSecret = false, of = droplet } = {},
): ReturnType<typeof reconcileImage> {
  const context = {
    read: { list: () => classes },
    client: { find: async () => (hasSecret ? {} : undefined) },
  } as unknown as ReconcileContext;
  return reconcileImage(of, { space: "s", appGUID: "a", makeImage }, context);
}

test("it is made of the content, on the images that the class names", async () => {
  const asked: unknown[] = [];
  const make: MakeDropletImage = async (request) => (asked.push(request), IMAGE);
  const imagePullSecretRef = { name: REGISTRY_SECRET };
  expect(await reconcile(make)).toEqual({ status: { state: "Staged", image: IMAGE } });
  expect(await reconcile(make, { hasSecret: true })).toEqual({
    status: { state: "Staged", image: IMAGE, imagePullSecretRef },
  });
  expect(asked[0]).toEqual({
    space: "s",
    app: "a",
    droplet: guidOf(droplet),
    content: DIGEST,
    processTypes: ["web"],
    base: { ...images, platformAPI: "0.14" },
  });
});

test("it is made once", async () => {
  const never: MakeDropletImage = () => Promise.reject(new Error("it was made again"));
  const status = { image: IMAGE, imagePullSecretRef: { name: REGISTRY_SECRET } };
  expect(await reconcile(never, { of: { ...droplet, status } as Droplet })).toEqual({
    status: { state: "Staged", ...status },
  });
});

test("what can never become one fails with the reason", async () => {
  const make: MakeDropletImage = () => Promise.reject(new UnusableImage("it is no tar.gz"));
  expect(await reconcile(make)).toEqual({
    status: { state: "Failed" },
    ready: { status: "False", reason: "ContentUnusable", message: "it is no tar.gz", isFailure: true },
  });
});

test.each<[string, MakeDropletImage | undefined, BackendClass[]]>([
  ["no class names images", async () => IMAGE, []],
  ["there is no registry", undefined, [builder]],
  ["the registry is away", () => Promise.reject(new BlobStoreUnavailable("it is away")), [builder]],
  ["an image is missing", () => Promise.reject(new ImageNotFound("run")), [builder]],
])("it waits where %s, and says so", async (_what, make, classes) => {
  const waiting = async (): Promise<unknown> => reconcile(make, { classes });
  await expect(waiting()).rejects.toMatchObject({ reason: "ImageNotMade", requeueAfterMs: 10_000 });
});
