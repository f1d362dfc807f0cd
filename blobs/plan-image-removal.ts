// Which built images may be removed. Pure: the caller lists images and references, and removes the result.

/** A tag in the part of an app, or of its cache: `<prefix>/<space guid>/apps/<app guid>[/cache]`. */
export interface AppImage {
  repository: string;
  app: string;
  isCache: boolean;
  tag: string;
  /** The manifest's digest. */
  digest: string;
}

export interface ImageReferences {
  /** Digests of images that a Droplet, LRP, TaskRun or Staging names. */
  digests: ReadonlySet<string>;
  /** GUIDs of apps that exist. Their cache and their last image make the next build quick. */
  apps: ReadonlySet<string>;
  /** GUIDs of builds whose Staging exists: their image may be named in a moment. */
  builds: ReadonlySet<string>;
}

export interface UnusedImage {
  repository: string;
  digest: string;
}

/**
 * The images to remove now, and since when each unused image has been seen unused (ms since the epoch, by `repository@digest`): an image says nothing true
 * about its age. A caller that forgets the times only removes later.
 */
export function planImageRemoval(options: {
  images: readonly AppImage[];
  references: ImageReferences;
  unusedSince: ReadonlyMap<string, number>;
  now: number;
  graceMs: number;
}): { remove: UnusedImage[]; unusedSince: Map<string, number> } {
  const { images, references, now, graceMs } = options;
  const keyOf = ({ repository, digest }: UnusedImage): string => `${repository}@${digest}`;
  const used = new Set(images.filter((image) => isUsed(image, references)).map(keyOf));
  const unused = new Map(images.filter((image) => !used.has(keyOf(image))).map((image) => [keyOf(image), image]));
  const unusedSince = new Map([...unused.keys()].map((key) => [key, options.unusedSince.get(key) ?? now]));
  const remove = [...unused]
    .filter(([key]) => now - (unusedSince.get(key) ?? now) >= graceMs)
    .map(([, { repository, digest }]) => ({ repository, digest }));
  for (const image of remove) unusedSince.delete(keyOf(image));
  return { remove, unusedSince };
}

function isUsed({ app, isCache, tag, digest }: AppImage, { digests, apps, builds }: ImageReferences): boolean {
  if (digests.has(digest) || builds.has(tag)) return true;
  return apps.has(app) && (isCache || tag === "latest");
}
