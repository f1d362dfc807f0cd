// Removes unpacked droplets and build caches that no object references, and compiled modules once they are old or too large together. A droplet is unpacked again from the blob store when needed.
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Buildpack } from "../../../crds/buildpack/buildpack.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { directoriesSize } from "./build-limits.ts";
import { toUploadedFolder } from "./uploaded-buildpacks.ts";
import { removeFolder } from "../../host/remove-folder.ts";
import { ownerFile } from "../../host/root-owner.ts";
import type { Informers } from "../../../kube/cache/informers.ts";

/** A directory directly under the droplets or caches; `modified` in ms since the epoch. */
export interface CachedDirectory {
  path: string;
  modified: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/**
 * How long unreferenced folders stay. A droplet's LRP exists as long as its instances run, so minutes are enough. The folder of an unpacking
 * that is still running does not change its time. Without its cache an app's next build is slow.
 */
const graceMs = { droplets: 5 * minuteMs, temporary: hourMs, caches: 30 * 24 * hourMs };
const periodMs = minuteMs;
/** Ten times what one version of Node and of this builder takes. */
const maxCompileCacheBytes = 64 * 2 ** 20;
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
  /** Unpacked buildpacks. */
  buildpacksDir: string;
  /** Modules that Node compiled for builds: a folder for each version of Node. */
  compileCacheDir: string;
  onError: (error: unknown, what: string) => void;
  /** See HostBuilderOptions. */
  isLeader: () => boolean;
}

/** Collects periodically until the returned function is called. */
export function startGarbageCollection(options: GarbageCollectionOptions): () => void {
  const handles = [
    options.informers.ensure(Droplet),
    options.informers.ensure(LRP),
    options.informers.ensure(Staging),
    options.informers.ensure(Buildpack),
  ];
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
export function toAppCache(
  cacheDir: string,
  { app, space, cacheKey }: Pick<Staging["spec"], "app" | "space" | "cacheKey">,
): string {
  return join(cacheDir, [space.guid, app.guid, ...(cacheKey ? [cacheKey] : [])].join("."));
}

/** Collects once. Does nothing while a kind is not synced: a Droplet that cannot be read is not gone. */
export async function collectGarbage(
  {
    informers,
    dropletsDir,
    cacheDir,
    buildpacksDir,
    compileCacheDir,
  }: Omit<GarbageCollectionOptions, "onError" | "isLeader">,
  now: number,
): Promise<void> {
  const { read } = informers;
  const stores = [informers.store(Droplet), informers.store(LRP), informers.store(Staging), informers.store(Buildpack)];
  if (!stores.every(({ synced }) => synced)) return;
  const stagings = read.list(Staging);
  const roots = [
    ...read.list(Droplet).map((one) => one.spec.root),
    ...read.list(LRP).map((one) => one.spec.droplet.root),
    ...stagings.map((one) => join(dropletsDir, one.spec.buildGUID)),
  ];
  const caches = stagings.map((one) => toAppCache(cacheDir, one.spec));
  const uploaded = [
    ...read.list(Buildpack).map(({ spec }) => spec),
    ...stagings.flatMap(({ spec }) => spec.buildpacks),
  ];
  const buildpacks = uploaded.flatMap(({ content }) =>
    content ? [toUploadedFolder(buildpacksDir, content.digest)] : [],
  );
  // A root's owner record stays as long as an object references the root.
  const referenced = new Set(roots.filter((root) => root !== undefined).flatMap((root) => [root, ownerFile(root)]));
  const [temporary, droplets] = partition(await listCachedDirectories(dropletsDir), isTemporary);
  const unused = [
    ...planGarbageCollection(droplets, referenced, now - graceMs.droplets),
    ...planGarbageCollection(temporary, referenced, now - graceMs.temporary),
    ...planGarbageCollection(await listCachedDirectories(cacheDir), new Set(caches), now - graceMs.caches),
    ...planGarbageCollection(await listCachedDirectories(buildpacksDir), new Set(buildpacks), now - graceMs.temporary),
    ...(await findUnusedCompiled(compileCacheDir, now - graceMs.caches)),
  ];
  for (const path of unused) await removeFolder(path);
}

/** A build compiles again in a fraction of a second whatever it loses here. */
async function findUnusedCompiled(directory: string, before: number): Promise<string[]> {
  const versions = await listCachedDirectories(directory);
  const isTooLarge = (await directoriesSize([directory], maxCompileCacheBytes)) > maxCompileCacheBytes;
  return isTooLarge ? versions.map(({ path }) => path) : planGarbageCollection(versions, new Set(), before);
}

/** The rest of an unpacking, or one that is running. */
function isTemporary({ path }: CachedDirectory): boolean {
  return /^\.(unpack|old)-/.test(basename(path));
}

function partition<T>(all: readonly T[], matches: (one: T) => boolean): [matching: T[], others: T[]] {
  return [all.filter(matches), all.filter((one) => !matches(one))];
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
