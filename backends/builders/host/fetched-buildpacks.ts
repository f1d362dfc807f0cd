// Other people's buildpacks by address: a git repository or an image in a registry, each fetched once per version into a folder of this machine.
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { CredentialSource } from "../../../blobs/registry/authorizer.ts";
import type { Environment } from "../../host/host-environment.ts";
import { escapeId } from "../../host/droplet-metadata.ts";
import { withBuildpackImage } from "../buildpack-image.ts";
import { StagingFailure } from "../staging-failure.ts";
import { isThere } from "../uploaded-buildpack.ts";
import { cloneRepository, resolveCommit } from "./git-repository.ts";
import type { OnHelperFailed } from "./user-credentials.ts";

/** The folder of a buildpack by its address. Rejects with the signal's reason once that aborts. @throws StagingFailure that says why it cannot be fetched */
export type ProvideFetched = (address: string, signal?: AbortSignal) => Promise<string>;

export interface FetchOptions {
  /** Folder of this builder alone. */
  directory: string;
  /** Variables for git: proxies, certificates, HOME. */
  environment: Environment;
  /** For images; none unless given. Called for each, with whom to tell of a credential helper that fails. */
  credentials?: (onHelperFailed: OnHelperFailed) => CredentialSource;
}

/** A fetch, for all who wait for its address. It is aborted when the last of them has gone. */
interface Fetch {
  folder: Promise<string>;
  stop: AbortController;
  waiting: number;
}

/** So many fetched ones stay; of the others those that no build has used for a day are removed. */
const KEPT = 20;
const UNUSED_MS = 24 * 60 * 60_000;

/** Whether a name is an address, which is fetched, and no name of a buildpack that is here. */
export function isAddress(name: string): boolean {
  return /^(docker|https?|git|ssh):\/\//.test(name);
}

/** Concurrent calls for one address share one fetch. */
export function fetchedBuildpacks(options: FetchOptions): ProvideFetched {
  const inFlight = new Map<string, Fetch>();
  const forget = (address: string, fetch: Fetch): void => {
    if (inFlight.get(address) === fetch) inFlight.delete(address);
  };
  const begin = (address: string): Fetch => {
    const stop = new AbortController();
    const begun: Fetch = { folder: fetch({ ...options, signal: stop.signal }, address), stop, waiting: 0 };
    inFlight.set(address, begun);
    begun.folder.then(
      () => forget(address, begun),
      () => forget(address, begun),
    );
    return begun;
  };
  return async (address, signal) => {
    signal?.throwIfAborted();
    const running = inFlight.get(address) ?? begin(address);
    running.waiting += 1;
    try {
      return await untilAborted(running.folder, signal);
    } finally {
      running.waiting -= 1;
      if (running.waiting === 0) {
        forget(address, running);
        running.stop.abort();
      }
    }
  };
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

type StoppableOptions = FetchOptions & { signal: AbortSignal };

async function fetch(options: StoppableOptions, address: string): Promise<string> {
  await mkdir(options.directory, { recursive: true });
  const folder = address.startsWith("docker://")
    ? await fetchImage(options, address.slice("docker://".length))
    : await fetchRepository(options, address);
  await removeUnused(options.directory);
  return folder;
}

/** `<url>#<branch, tag or commit>`, as CF has it. */
async function fetchRepository({ directory, environment, signal }: StoppableOptions, address: string): Promise<string> {
  const at = address.indexOf("#");
  const [url, reference] = at < 0 ? [address, undefined] : [address.slice(0, at), address.slice(at + 1)];
  const commit = await resolveCommit({ url, reference, environment, signal });
  const target = join(directory, digestOf(`${url}#${commit}`));
  await provideFolder(target, (temporary) =>
    cloneRepository({ url, reference: reference ?? commit, commit, environment, signal }, temporary),
  );
  return target;
}

async function fetchImage({ directory, credentials, signal }: StoppableOptions, reference: string): Promise<string> {
  let failed: string | undefined;
  const source = credentials?.((helper) => (failed = helper));
  try {
    return await withBuildpackImage(reference, { ...(source && { credentials: source }), signal }, async (image) => {
      const target = join(directory, image.digest.replace(":", "-"));
      // Side by side, where those of one image find each other.
      await provideFolder(target, (temporary) => image.unpack(temporary, folderName));
      return join(target, folderName(image.main));
    });
  } catch (error) {
    if (failed === undefined || !(error instanceof StagingFailure)) throw error;
    const message = `${error.message}; ${failed} of your docker settings failed and gave no login. Next: run docker login`;
    throw new StagingFailure(error.code, message, { cause: error });
  }
}

function folderName({ id, version }: { id: string; version: string }): string {
  return `${escapeId(id)}@${version}`;
}

/** Fills a folder unless it is there; an interruption leaves none. */
async function provideFolder(target: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  if (await isThere(target)) return touch(target);
  const temporary = `${target}.${randomUUID()}`;
  await mkdir(temporary, { recursive: true });
  try {
    await fill(temporary);
    await rename(temporary, target);
  } catch (error) {
    // Another process of this machine was quicker.
    if (!(await isThere(target))) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Its time says when it was last used. */
async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}

async function removeUnused(directory: string): Promise<void> {
  const names = await readdir(directory);
  if (names.length <= KEPT) return;
  const folders = await Promise.all(
    names.map(async (name) => ({
      name,
      usedAt: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  const oldest = folders.toSorted((a, b) => b.usedAt - a.usedAt).slice(KEPT);
  for (const { name, usedAt } of oldest)
    if (Date.now() - usedAt > UNUSED_MS) await rm(join(directory, name), { recursive: true, force: true });
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
