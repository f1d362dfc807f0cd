// Takes the buildpacks out of an image of a registry, as `pack buildpack package` makes one.
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { unpackTar } from "../../blobs/archive/tar.ts";
import { BlobTooLarge } from "../../blobs/blob-store.ts";
import type { CredentialSource } from "../../blobs/registry/authorizer.ts";
import type { Descriptor } from "../../blobs/registry/image-manifest.ts";
import { parseImageName, type ImageName } from "../../blobs/registry/image-name.ts";
import { createRegistryClient, type RegistryClient } from "../../blobs/registry/registry-client.ts";
import { processScratch, type ScratchMeter } from "../../blobs/scratch/scratch-space.ts";
import { presentImageError } from "./registry-images.ts";
import { StagingFailure } from "./staging-failure.ts";

/** The most that the layers of an image may unpack to together. */
const MAX_UNPACKED_BYTES = 4 * 2 ** 30;
/** Names that end in an @ without a digest: docker's names have none, addresses of other kinds a password. */
const USERINFO = /^[^]*@(?!sha\d+:)/;
const BUILDPACKAGE_LABEL = "io.buildpacks.buildpackage.metadata";
const MAKE_IT = "name an image that pack buildpack package has made";

const identity = z.object({ id: z.string().min(1), version: z.string().min(1) });

/** A buildpack's id and version. */
export interface ImageBuildpack {
  id: string;
  version: string;
}

/** An image that holds buildpacks. */
export interface BuildpackImage {
  digest: string;
  /** The one that the image is for; the others are its components. */
  main: ImageBuildpack;
  /** Puts every buildpack of the image into a folder of `target` that `toName` names. */
  unpack(target: string, toName: (buildpack: ImageBuildpack) => string): Promise<void>;
}

export interface BuildpackImageOptions {
  /** None unless given. */
  credentials?: CredentialSource;
  /** Hosts to reach by plain http, besides this machine. */
  insecureHosts?: readonly string[];
  /** Whatever is under way fails when it aborts. */
  signal?: AbortSignal;
}

/** @param reference without a scheme. @throws StagingFailure that says why it cannot be fetched */
export async function withBuildpackImage<T>(
  reference: string,
  { credentials = () => Promise.resolve(undefined), insecureHosts = [], signal }: BuildpackImageOptions,
  use: (image: BuildpackImage) => Promise<T>,
): Promise<T> {
  const what = `the buildpack docker://${reference.replace(USERINFO, "***:***@")} cannot be fetched`;
  const image = toImageName(reference, what);
  // As Docker does: a registry on this machine needs no certificate.
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(image.host);
  const registry = createRegistryClient({
    credentials,
    insecureHosts: isHere ? [...insecureHosts, image.host] : [...insecureHosts],
  });
  // Between two requests, too.
  const stop = (): void => void registry.close();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await use(await openImage(registry, image, reference));
  } catch (error) {
    throw presentImageError(error, what);
  } finally {
    signal?.removeEventListener("abort", stop);
    await registry.close();
  }
}

async function openImage(registry: RegistryClient, image: ImageName, reference: string): Promise<BuildpackImage> {
  const { digest, manifest } = await registry.getManifest(image);
  const { config } = await registry.getConfig({ host: image.host, repository: image.repository, digest });
  return {
    digest,
    main: parseBuildpackage(reference, config.config?.Labels?.[BUILDPACKAGE_LABEL]),
    unpack: (target, toName) =>
      processScratch.count(`buildpack ${digest}`, async (meter) => {
        const total = withTotal(meter, MAX_UNPACKED_BYTES);
        for (const layer of manifest.layers) await unpackLayer({ registry, image, layer, total }, target, toName);
      }),
  };
}

/** Each layer may be small, and all of them large. */
function withTotal(meter: ScratchMeter, maxBytes: number): ScratchMeter {
  let left = maxBytes;
  return {
    signal: meter.signal,
    take(bytes) {
      if ((left -= bytes) < 0) throw new BlobTooLarge(maxBytes);
      meter.take(bytes);
    },
  };
}

async function unpackLayer(
  {
    registry,
    image,
    layer,
    total,
  }: { registry: RegistryClient; image: ImageName; layer: Descriptor; total: ScratchMeter },
  target: string,
  toName: (buildpack: ImageBuildpack) => string,
): Promise<void> {
  const unpacked = join(target, `.layer-${layer.digest.replace(":", "-")}`);
  await mkdir(unpacked, { recursive: true });
  const content = await registry.openBlob(image, layer);
  await unpackTar(content, unpacked, {
    maxBytes: MAX_UNPACKED_BYTES,
    symlinks: "inside",
    absolute: "below",
    scratch: total,
  });
  await takeBuildpacks(unpacked, target, toName);
  await rm(unpacked, { recursive: true, force: true });
}

/** Moves what a layer has in /cnb/buildpacks/ID/VERSION. @throws StagingFailure when a file stands where a buildpack belongs */
export async function takeBuildpacks(
  layer: string,
  target: string,
  toName: (buildpack: ImageBuildpack) => string,
): Promise<void> {
  const root = join(layer, "cnb", "buildpacks");
  for (const id of await readdir(root).catch(() => []))
    for (const version of await listVersions(root, id)) {
      const place = join(target, toName({ id, version }));
      await mkdir(join(place, ".."), { recursive: true });
      // A link to a buildpack of the builder image gives way.
      await rm(place, { recursive: true, force: true });
      await rename(join(root, id, version), place);
    }
}

function listVersions(root: string, id: string): Promise<string[]> {
  return readdir(join(root, id)).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== "ENOTDIR") throw cause;
    throw new StagingFailure(
      "StagingError",
      `the image is no buildpack: /cnb/buildpacks/${id} is a file. Next: ${MAKE_IT}`,
      {
        cause,
      },
    );
  });
}

function toImageName(reference: string, what: string): ImageName {
  if (USERINFO.test(reference))
    throw new StagingFailure(
      "StagingError",
      `${what}: an image's name takes no user name or password, and a digest alone after @. Next: name it without them; a platform on your laptop uses your docker login`,
    );
  try {
    return parseImageName(reference);
  } catch (error) {
    throw presentImageError(error, what);
  }
}

/** @param label undefined when the image has none. @throws StagingFailure when it names no buildpack */
export function parseBuildpackage(reference: string, label: string | undefined): ImageBuildpack {
  const parsed = identity.safeParse(toJson(label));
  if (parsed.success) return parsed.data;
  const what = label === undefined ? "it has no label" : "it has no id and version in its label";
  throw new StagingFailure(
    "StagingError",
    `the image ${reference} is no buildpack: ${what} ${BUILDPACKAGE_LABEL}. Next: ${MAKE_IT}`,
  );
}

/** Undefined for a text that is no JSON. */
function toJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
