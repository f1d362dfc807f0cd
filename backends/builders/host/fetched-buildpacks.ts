// Other people's buildpacks by address: a git repository or an image in a registry, each fetched once per version into a folder of this machine.
import { createHash, randomUUID } from "node:crypto";
import { access, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { unpackTar } from "../../../blobs/archive/tar.ts";
import type { CredentialSource } from "../../../blobs/registry/authorizer.ts";
import { parseImageName, type ImageName } from "../../../blobs/registry/image-name.ts";
import { createRegistryClient } from "../../../blobs/registry/registry-client.ts";
import { hideUserinfo } from "../../../crds/hide-userinfo.ts";
import type { Environment } from "../../host/host-environment.ts";
import { escapeId } from "../../host/droplet-metadata.ts";
import { presentImageError } from "../registry-images.ts";
import { StagingFailure } from "../staging-failure.ts";
import { cloneRepository, resolveCommit } from "./git-repository.ts";

/** The folder of a buildpack by its address. Rejects with the signal's reason once that aborts. @throws StagingFailure that says why it cannot be fetched */
export type ProvideFetched = (address: string, signal?: AbortSignal) => Promise<string>;

export interface FetchOptions {
  /** Folder of this builder alone. */
  directory: string;
  /** Variables for git: proxies, certificates, HOME. */
  environment: Environment;
  /** For images; none unless given. */
  credentials?: CredentialSource;
}

/** One fetch, for all who wait for its address. It is aborted when the last of them has gone. */
interface Fetch {
  folder: Promise<string>;
  stop: AbortController;
  waiting: number;
}

const MAX_UNPACKED_BYTES = 4 * 2 ** 30;
/** So many fetched ones stay; of the others those that no build has used for a day are removed. */
const KEPT = 20;
const UNUSED_MS = 24 * 60 * 60_000;
const BUILDPACKAGE_LABEL = "io.buildpacks.buildpackage.metadata";

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
  const what = `the buildpack docker://${hideUserinfo(reference)} cannot be fetched`;
  const image = toImageName(reference, what);
  const registry = createRegistryClient({
    credentials: credentials ?? (() => Promise.resolve(undefined)),
    // As Docker does: a registry on this machine needs no certificate.
    insecureHosts: /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(image.host) ? [image.host] : [],
  });
  // Whatever is under way fails then, between two requests too.
  const stop = (): void => void registry.close();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const { digest, manifest } = await registry.getManifest(image);
    const { config } = await registry.getConfig({ host: image.host, repository: image.repository, digest });
    const main = parseBuildpackage(reference, config.config?.Labels?.[BUILDPACKAGE_LABEL]);
    const target = join(directory, digest.replace(":", "-"));
    await provideFolder(target, async (temporary) => {
      for (const [index, layer] of manifest.layers.entries()) {
        const unpacked = join(temporary, `.layer-${index}`);
        await mkdir(unpacked, { recursive: true });
        const content = await registry.openBlob(image, layer);
        await unpackTar(content, unpacked, { maxBytes: MAX_UNPACKED_BYTES, symlinks: "inside", absolute: "below" });
        await takeBuildpacks(unpacked, temporary);
        await rm(unpacked, { recursive: true, force: true });
      }
    });
    return join(target, folderName(main));
  } catch (error) {
    throw presentImageError(error, what);
  } finally {
    signal.removeEventListener("abort", stop);
    await registry.close();
  }
}

function toImageName(reference: string, what: string): ImageName {
  try {
    return parseImageName(reference);
  } catch (error) {
    throw presentImageError(error, what);
  }
}

/** Puts the buildpacks of a layer side by side, where those of one image find each other. */
async function takeBuildpacks(layer: string, target: string): Promise<void> {
  const root = join(layer, "cnb", "buildpacks");
  for (const id of await readdir(root).catch(() => []))
    for (const version of await readdir(join(root, id)))
      await rename(join(root, id, version), join(target, folderName({ id, version })));
}

function folderName({ id, version }: { id: string; version: string }): string {
  return `${escapeId(id)}@${version}`;
}

function parseBuildpackage(reference: string, label: string | undefined): { id: string; version: string } {
  const parsed = (label === undefined ? {} : JSON.parse(label)) as { id?: unknown; version?: unknown };
  if (typeof parsed.id === "string" && typeof parsed.version === "string")
    return { id: parsed.id, version: parsed.version };
  throw new StagingFailure(
    "StagingError",
    `the image ${reference} is no buildpack: it has no label ${BUILDPACKAGE_LABEL}. Next: name an image that pack buildpack package has made`,
  );
}

/** Fills a folder unless it is there; an interruption leaves none. */
async function provideFolder(target: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  if (await exists(target)) return touch(target);
  const temporary = `${target}.${randomUUID()}`;
  await mkdir(temporary, { recursive: true });
  try {
    await fill(temporary);
    await rename(temporary, target);
  } catch (error) {
    // Another process of this machine was quicker.
    if (!(await exists(target))) throw error;
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

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
