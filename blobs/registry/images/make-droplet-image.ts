// Makes an image of an uploaded droplet: its content is a layer on a run image, below the launcher of a builder image.
import pLimit from "p-limit";
import type { DropletBase } from "../../../crds/backend-class/droplet-place.ts";
import type { Digest } from "../../blob-store.ts";
import { bytesSource } from "../bytes-source.ts";
import { contentTag } from "../content-image.ts";
import { MEDIA_TYPES, type Descriptor, type ImageConfig, type ImageManifest } from "../image-manifest.ts";
import { appRepositoryOf, formatImageName, parseImageName, repositoryOf, type RegistryPrefix } from "../image-name.ts";
import type { Place } from "../place.ts";
import type { RegistryClient } from "../registry-client.ts";
import { createLauncherLayers, packProcessLinks, UnusableImage, type SmallLayer } from "./launcher-layer.ts";
import { provideBlob } from "./provide-blob.ts";

export interface DropletImageRequest {
  space: string;
  app: string;
  /** GUID of the droplet: the tag. */
  droplet: string;
  content: Digest;
  processTypes: readonly string[];
  base: DropletBase;
}

/** Returns the image by digest. The same request gives the same image. @throws UnusableImage when no retry helps, ImageNotFound, RegistryError */
export type MakeDropletImage = (request: DropletImageRequest) => Promise<string>;

/** A layer of the new image, and where its blob is. */
interface PlacedLayer {
  layer: Descriptor;
  unpacked: Digest;
  place: Place;
}

const BLOBS_AT_ONCE = 4;

export function createDropletImages(client: RegistryClient, prefix: RegistryPrefix): MakeDropletImage {
  const launcherOf = createLauncherLayers(client);
  return async (request) => {
    const { space, app, droplet, processTypes, base } = request;
    const target = { host: prefix.host, repository: appRepositoryOf(prefix, space, app) };
    const [run, content, launcher, links] = await Promise.all([
      readRunImage(client, base.runImage),
      readContent(client, { host: prefix.host, repository: repositoryOf(prefix, space, "droplet") }, request.content),
      launcherOf(base.builderImage),
      packProcessLinks(processTypes),
    ]);
    const small = [launcher, links].map(({ source, unpacked }) => ({ layer: toLayer(source), unpacked }));
    const config = toConfig(run.config, { added: [content, ...small], base });
    const configSource = bytesSource(Buffer.from(JSON.stringify(config)));
    const limit = pLimit(BLOBS_AT_ONCE);
    await Promise.all([
      ...run.layers.map((layer) => limit(() => provideBlob(client, layer, { from: run.place, to: target }))),
      limit(() => provideBlob(client, content.layer, { from: content.place, to: target })),
      ...[launcher.source, links.source, configSource].map((source) => limit(() => client.uploadBlob(target, source))),
    ]);
    const manifest: ImageManifest = {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: { mediaType: MEDIA_TYPES.config, digest: configSource.digest, size: configSource.size },
      layers: [...run.layers, content.layer, ...small.map(({ layer }) => layer)],
    };
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = await client.pushManifest({ ...target, tag: droplet }, { mediaType: MEDIA_TYPES.manifest, bytes });
    return formatImageName({ ...target, digest });
  };
}

async function readRunImage(client: RegistryClient, runImage: string) {
  const place = parseImageName(runImage);
  const { manifest } = await client.getManifest(place);
  const config = await readConfig(client, place, manifest);
  // Images of Docker have the same layers under another name.
  const layers = manifest.layers.map((layer) =>
    layer.mediaType === "application/vnd.docker.image.rootfs.diff.tar.gzip"
      ? { ...layer, mediaType: MEDIA_TYPES.layer }
      : layer,
  );
  return { place, config, layers };
}

/** The content as the blob store keeps it: an image with one layer. */
async function readContent(client: RegistryClient, place: Place, digest: Digest): Promise<PlacedLayer> {
  const { manifest } = await client.getManifest({ ...place, tag: contentTag(digest) });
  const layer = manifest.layers.find((one) => one.digest === digest);
  const unpacked = (await readConfig(client, place, manifest)).rootfs?.diff_ids[0];
  if (!layer || unpacked === undefined || layer.mediaType !== MEDIA_TYPES.layer)
    throw new UnusableImage(`the content ${digest} is no tar.gz: upload a droplet with the app in its folder app`);
  return { layer, unpacked, place };
}

const MAX_CONFIG_BYTES = 64 * 2 ** 20;

async function readConfig(client: RegistryClient, place: Place, { config }: ImageManifest): Promise<ImageConfig> {
  const bytes = await client.readBlob(place, config, MAX_CONFIG_BYTES);
  return JSON.parse(bytes.toString("utf8")) as ImageConfig;
}

function toLayer({ digest, size }: SmallLayer["source"]): Descriptor {
  return { mediaType: MEDIA_TYPES.layer, digest, size };
}

/** The run image's configuration with the droplet's layers, and what the launcher goes by. */
function toConfig(
  run: ImageConfig,
  { added, base }: { added: readonly Pick<PlacedLayer, "unpacked">[]; base: DropletBase },
): ImageConfig {
  const { Cmd: _cmd, ...inner } = run.config ?? {};
  const diffs = [...(run.rootfs?.diff_ids ?? []), ...added.map(({ unpacked }) => unpacked)];
  const steps = added.map(() => ({ created_by: "a droplet that was uploaded" }));
  return {
    ...run,
    config: {
      ...inner,
      Entrypoint: ["/cnb/lifecycle/launcher"],
      WorkingDir: "/workspace",
      Env: toEnv(inner.Env ?? [], {
        CNB_APP_DIR: "/workspace",
        CNB_LAYERS_DIR: "/layers",
        CNB_PLATFORM_API: base.platformAPI,
        CNB_DEPRECATION_MODE: "quiet",
      }),
    },
    rootfs: { type: "layers", diff_ids: diffs },
    ...(run.history && { history: [...run.history, ...steps] }),
  };
}

function toEnv(given: readonly string[], set: Readonly<Record<string, string>>): string[] {
  const kept = given.filter((variable) => !Object.hasOwn(set, variable.split("=")[0] ?? ""));
  return [...kept, ...Object.entries(set).map(([name, value]) => `${name}=${value}`)];
}
