// An image as the OCI image layout (a folder), and that folder as one tar that `ctr images import`, skopeo and docker load.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { pack } from "tar-stream";
import type { ImageEntry } from "./image-entries.ts";
import { ownProcessor, type Processor } from "./processor.ts";
import { blobPath, writeLayer, type Descriptor } from "./oci-layer.ts";

/** `config` of the image's configuration, in OCI's own words. */
export interface ImageConfig {
  User?: string;
  ExposedPorts?: Record<string, object>;
  Env?: string[];
  Entrypoint?: string[];
  Cmd?: string[];
  WorkingDir?: string;
  Labels?: Record<string, string>;
}

export interface ImageSpec {
  /** Lowest first. The name appears in the image's history. */
  layers: readonly { name: string; entries: readonly ImageEntry[] }[];
  config: ImageConfig;
  /** Full reference with a tag, as in `registry.example.org/cupola:0.1.0`: the name under which a container runtime imports the tar. */
  reference: string;
  /** This machine's when left out. */
  processor?: Processor;
}

export interface WrittenImage {
  /** Folder of the layout. */
  layout: string;
  /** Digest of the manifest. */
  digest: string;
  /** Bytes of all layers, compressed: about what a node pulls. */
  size: number;
}

const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
const CREATED = "1970-01-01T00:00:00Z";

/** Writes layers, configuration and manifest into the folder `layout`. It is for Linux. */
export async function writeImage(layout: string, spec: ImageSpec): Promise<WrittenImage> {
  const { processor = ownProcessor() } = spec;
  mkdirSync(join(layout, "blobs", "sha256"), { recursive: true });
  const layers = [];
  for (const { entries } of spec.layers) layers.push(await writeLayer(layout, entries));
  const config = putJson(layout, CONFIG_TYPE, {
    created: CREATED,
    architecture: processor,
    os: "linux",
    config: spec.config,
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: spec.layers.map(({ name }) => ({ created: CREATED, created_by: name })),
  });
  const manifest = putJson(layout, MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config,
    layers: layers.map(({ descriptor }) => descriptor),
  });
  writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  writeFileSync(join(layout, "index.json"), JSON.stringify(toIndex(manifest, spec.reference, processor)));
  return { layout, digest: manifest.digest, size: layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0) };
}

function toIndex(manifest: Descriptor, reference: string, processor: Processor): object {
  const tag = /:([^:/@]+)$/.exec(reference)?.[1];
  if (!tag)
    throw new Error(`"${reference}" is no reference with a tag: write one, as in registry.example.org/cupola:1`);
  const annotations = { "io.containerd.image.name": reference, "org.opencontainers.image.ref.name": tag };
  const platform = { architecture: processor, os: "linux" };
  return { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: [{ ...manifest, platform, annotations }] };
}

function putJson(layout: string, mediaType: string, value: object): Descriptor {
  const bytes = Buffer.from(JSON.stringify(value));
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  writeFileSync(blobPath(layout, digest), bytes);
  return { mediaType, digest, size: bytes.length };
}

/** Writes the layout as one tar. */
export async function writeImageTar(layout: string, file: string): Promise<void> {
  const tar = pack();
  const output = pipeline(tar, createWriteStream(file));
  const names = [
    "oci-layout",
    "index.json",
    ...readdirSync(join(layout, "blobs", "sha256"))
      .sort()
      .map(blobName),
  ];
  for (const name of names) {
    const { size } = statSync(join(layout, name));
    await pipeline(createReadStream(join(layout, name)), tar.entry({ name, size, mtime: new Date(0) }));
  }
  tar.finalize();
  await output;
}

function blobName(name: string): string {
  return `blobs/sha256/${name}`;
}
