// The last droplet of an app, beside the cache of its builds: the next one copies from it what has not changed.
import { randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { KeptArchive } from "../../../blobs/archive/kept-parts.ts";
import type { Parts } from "../../../blobs/archive/parts.ts";

const index = z.object({
  archive: z.string(),
  parts: z.record(z.string(), z.object({ at: z.number(), length: z.number(), sum: z.number() })),
});

/** Packing a smaller droplet anew takes less than looking after it. */
const WORTH_BYTES = 4 * 2 ** 20;
const INDEX_FILE = "parts.json";

function folderOf(cache: string): string {
  return `${cache}.droplet`;
}

/** Undefined when there is none that can be read. Close its file. */
export async function openKeptDroplet(cache: string): Promise<KeptArchive | undefined> {
  try {
    const text = await readFile(join(folderOf(cache), INDEX_FILE), "utf8");
    const { archive, parts } = index.parse(JSON.parse(text));
    return { file: await open(join(folderOf(cache), archive)), parts };
  } catch {
    return undefined; // the first build, or a crash cut it short
  }
}

/** Keeps a droplet that was just packed, by a link, in place of the one before. */
export async function keepDroplet(cache: string, droplet: string, parts: Parts): Promise<void> {
  const folder = folderOf(cache);
  const bytes = Object.values(parts).reduce((sum, { length }) => sum + length, 0);
  if (bytes < WORTH_BYTES) return rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const archive = randomUUID();
  const fresh = join(folder, `${INDEX_FILE}.${archive}`);
  await link(droplet, join(folder, archive));
  await writeFile(fresh, JSON.stringify({ archive, parts }));
  await rename(fresh, join(folder, INDEX_FILE));
  for (const name of await readdir(folder))
    if (name !== archive && name !== INDEX_FILE) await rm(join(folder, name), { force: true });
}
