// Removes unpacked droplets and build caches that no object references. A droplet is unpacked again from the blob store when needed.
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { ownerFile } from "../../host/root-owner.ts";
import type { Informers } from "../../../kube/cache/informers.ts";

/** A directory directly under the droplets or caches; `modified` in ms since the epoch. */
export interface CachedDirectory {
  path: string;
  modified: number;
}

const hourMs = 60 * 60 * 1000;
/** How long unreferenced folders stay. A droplet may still be used by instances that are ending; without its cache an app's next build is slow. */
const graceMs = { droplets: hourMs, caches: 30 * 24 * hourMs };
const periodMs = hourMs / 2;
/** The first collection comes after an ordinary start is over. */
const initialDelayMs = 60_000;

/** The folders to remove: unreferenced, and not modified since `before`. Pure. */
export function planGarbageCollection(
  directories: readonly CachedDirectory[],
  referenced: ReadonlySet<string>,
  before: number,
): string[] {
  return directories.filter(({ path, modified }) => !referenced.has(path) && modified < before).map(({ path }) => path);
}

export interface GarbageCollectionOptions {
  informers: Informers;
  dropletsDir: string;
  cacheDir: string;
  onError: (error: unknown, what: string) => void;
  /** See HostBuilderOptions. */
  isLeader: () => boolean;
}

/** Collects periodically until the returned function is called. */
export function startGarbageCollection(options: GarbageCollectionOptions): () => void {
  const handles = [options.informers.ensure(Droplet), options.informers.ensure(LRP), options.informers.ensure(Staging)];
  const collect = (): void =>
    void (
      options.isLeader() &&
      collectGarbage(options, Date.now()).catch((error: unknown) =>
        options.onError(error, "removing unused droplets and caches"),
      )
    );
  const initialTimer = setTimeout(collect, initialDelayMs).unref();
  const timer = setInterval(collect, periodMs).unref();
  return () => {
    clearTimeout(initialTimer);
    clearInterval(timer);
    for (const watch of handles) watch.release();
  };
}

/** The cache of an app's builds. Its name has the space, too: an App of another space can be given the same GUID. */
export function toAppCache(cacheDir: string, { app, space }: Pick<Staging["spec"], "app" | "space">): string {
  return join(cacheDir, `${space.guid}.${app.guid}`);
}

/** Collects once. Does nothing while a kind is not synced: a Droplet that cannot be read is not gone. */
export async function collectGarbage(
  { informers, dropletsDir, cacheDir }: Omit<GarbageCollectionOptions, "onError" | "isLeader">,
  now: number,
): Promise<void> {
  const { read } = informers;
  if (!(informers.store(Droplet).synced && informers.store(LRP).synced && informers.store(Staging).synced)) return;
  const stagings = read.list(Staging);
  const roots = [
    ...read.list(Droplet).map((one) => one.spec.root),
    ...read.list(LRP).map((one) => one.spec.droplet.root),
    ...stagings.map((one) => join(dropletsDir, one.spec.buildGUID)),
  ];
  const caches = stagings.map((one) => toAppCache(cacheDir, one.spec));
  const unused = [
    ...planGarbageCollection(
      await listCachedDirectories(dropletsDir),
      // A root's owner record stays as long as an object references the root.
      new Set(roots.filter((root) => root !== undefined).flatMap((root) => [root, ownerFile(root)])),
      now - graceMs.droplets,
    ),
    ...planGarbageCollection(await listCachedDirectories(cacheDir), new Set(caches), now - graceMs.caches),
  ];
  for (const path of unused) await rm(path, { recursive: true, force: true });
}

async function listCachedDirectories(directory: string): Promise<CachedDirectory[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  const directories = await Promise.all(
    names.map(async (name) => ({
      path: join(directory, name),
      modified: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs,
    })),
  );
  return directories.flatMap(({ path, modified }) => (modified === undefined ? [] : [{ path, modified }]));
}
