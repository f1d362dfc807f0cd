// Which built images are removed, and when.
import { expect, test } from "vitest";
import { planImageRemoval, type AppImage, type ImageReferences } from "./plan-image-removal.ts";

const repository = "cupola/space/apps/shop";
const image = (tag: string, digest: string, more: Partial<AppImage> = {}): AppImage => ({
  repository,
  app: "shop",
  isCache: false,
  tag,
  digest,
  ...more,
});
const references = (more: Partial<ImageReferences> = {}): ImageReferences => ({
  digests: new Set(),
  apps: new Set(),
  builds: new Set(),
  ...more,
});
const plan = (images: AppImage[], given: ImageReferences, unusedSince: [string, number][] = [], now = 1000) =>
  planImageRemoval({ images, references: given, unusedSince: new Map(unusedSince), now, graceMs: 100 });

test("an image goes once it has been unused for the whole grace", () => {
  const images = [image("b1", "sha256:1")];
  const first = plan(images, references());
  expect(first).toEqual({ remove: [], unusedSince: new Map([[`${repository}@sha256:1`, 1000]]) });
  expect(plan(images, references(), [...first.unusedSince], 1099).remove).toEqual([]);
  expect(plan(images, references(), [...first.unusedSince], 1100)).toEqual({
    remove: [{ repository, digest: "sha256:1" }],
    unusedSince: new Map(),
  });
});

test.each<[string, AppImage, ImageReferences]>([
  ["that a droplet names", image("b1", "sha256:1"), references({ digests: new Set(["sha256:1"]) })],
  ["of a build under way", image("b1", "sha256:1"), references({ builds: new Set(["b1"]) })],
  ["that was an app's last", image("latest", "sha256:1"), references({ apps: new Set(["shop"]) })],
  ["with an app's cache", image("x", "sha256:1", { isCache: true }), references({ apps: new Set(["shop"]) })],
])("an image %s stays", (_name, kept, given) => {
  const old: [string, number][] = [[`${repository}@sha256:1`, 0]];
  expect(plan([kept, image("other-tag", "sha256:1")], given, old)).toEqual({ remove: [], unusedSince: new Map() });
  expect(plan([kept], references(), old).remove).toHaveLength(1);
});

test("an image that was used in between has its grace again", () => {
  const used = references({ digests: new Set(["sha256:1"]) });
  const { unusedSince } = plan([image("b1", "sha256:1")], used, [[`${repository}@sha256:1`, 0]]);
  expect(plan([image("b1", "sha256:1")], references(), [...unusedSince]).remove).toEqual([]);
});
