// Removes what no object names any more: unpacked droplets and caches of apps. A droplet comes back from the blob store when it is wanted again.
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import type { Watches } from "../../../kube/cache/informers.ts";

/** A directory directly under the droplets or caches; `modified` in ms since the epoch. */
export interface Kept {
  path: string;
  modified: number;
}

const hourMs = 60 * 60 * 1000;
/** How long what nobody names stays: a droplet costs an unpacking (instances that still end use it), a cache a slow build of an app that may well be built again. */
const graceMs = { droplets: hourMs, caches: 30 * 24 * hourMs };
const everyMs = hourMs / 2;
/** The first look: by then an ordinary start is over. */
const firstMs = 60_000;

/** What may go: not needed, and not touched since `before`. Pure. */
export function planSweep(kept: readonly Kept[], needed: ReadonlySet<string>, before: number): string[] {
  return kept.filter(({ path, modified }) => !needed.has(path) && modified < before).map(({ path }) => path);
}

export interface SweepOptions {
  watches: Watches;
  dropletsDir: string;
  cacheDir: string;
  onError: (error: unknown, what: string) => void;
  /** As of HostBuilderOptions. */
  holds: () => boolean;
}

/** Sweeps now and then until the returned function is called. */
export function startSweep(options: SweepOptions): () => void {
  const held = [options.watches.ensure(Droplet), options.watches.ensure(LRP), options.watches.ensure(Staging)];
  const look = (): void => void (options.holds() && sweep(options, Date.now()).catch((error: unknown) => options.onError(error, "removal of unused droplets and caches")));
  const first = setTimeout(look, firstMs).unref();
  const every = setInterval(look, everyMs).unref();
  return () => {
    clearTimeout(first);
    clearInterval(every);
    for (const watch of held) watch.release();
  };
}

/** One look. Does nothing while any of the kinds cannot be seen: not to see a Droplet is no sign that it is gone. */
export async function sweep({ watches, dropletsDir, cacheDir }: Omit<SweepOptions, "onError" | "holds">, now: number): Promise<void> {
  const { read } = watches;
  if (!(watches.store(Droplet).synced && watches.store(LRP).synced && watches.store(Staging).synced)) return;
  const stagings = read.list(Staging);
  const roots = [...read.list(Droplet).map((one) => one.spec.root), ...read.list(LRP).map((one) => one.spec.droplet.root), ...stagings.map((one) => join(dropletsDir, one.spec.buildGUID))];
  const caches = stagings.map((one) => join(cacheDir, one.spec.app.guid));
  const unused = [...planSweep(await listKept(dropletsDir), new Set(roots.filter((root) => root !== undefined)), now - graceMs.droplets), ...planSweep(await listKept(cacheDir), new Set(caches), now - graceMs.caches)];
  for (const path of unused) await rm(path, { recursive: true, force: true });
}

async function listKept(directory: string): Promise<Kept[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  const kept = await Promise.all(names.map(async (name) => ({ path: join(directory, name), modified: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs })));
  return kept.flatMap(({ path, modified }) => (modified === undefined ? [] : [{ path, modified }]));
}
