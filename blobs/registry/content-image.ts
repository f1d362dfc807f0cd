// A content of a space as an image: its manifest, configuration and tags. Pure.
import type { Blob, Digest } from "../blob-store.ts";
import { MEDIA_TYPES, type Descriptor, type ImageConfig, type ImageManifest } from "./image-manifest.ts";

/** The configuration of a content's image, with the note beside what the image specification asks for. */
export interface ContentConfig extends ImageConfig {
  "dev.cupola.note"?: string;
}

/** A writing of a content: its manifest is made once, and has a tag that says when. */
export interface Writing extends Blob {
  /** Milliseconds since the epoch. */
  modified: number;
}

const NOTE = "dev.cupola.note";
const CREATED = "org.opencontainers.image.created";
/** Makes each writing's manifest another one, so that deleting an old manifest never deletes a new one. */
const WRITING = "dev.cupola.writing";

/** The tag of the latest writing: what `find` reads. */
export function contentTag(digest: Digest): string {
  return `content-${hexOf(digest)}`;
}

/** The tag of one writing: what `list` reads, without a request for each content. */
export function writingTag({ digest, size, modified }: Writing): string {
  return `put-${Math.floor(modified).toString(36)}-${size.toString(36)}-${hexOf(digest)}`;
}

/** The inverse of `writingTag`; undefined for other tags. */
export function parseWritingTag(tag: string): Writing | undefined {
  const [, modified = "", size = "", hex] = /^put-([0-9a-z]{1,10})-([0-9a-z]{1,10})-([0-9a-f]{64})$/.exec(tag) ?? [];
  if (hex === undefined) return undefined;
  return { digest: `sha256:${hex}`, size: Number.parseInt(size, 36), modified: Number.parseInt(modified, 36) };
}

/** The digest that a `contentTag` names; undefined for other tags. */
export function parseContentTag(tag: string): Digest | undefined {
  const [, hex] = /^content-([0-9a-f]{64})$/.exec(tag) ?? [];
  return hex === undefined ? undefined : `sha256:${hex}`;
}

/** `layerDigest` is of the layer without compression; absent when the content is no gzip. */
export function presentConfig(content: Digest, layerDigest: Digest | undefined, note?: string): ContentConfig {
  return {
    os: "linux",
    architecture: "amd64",
    config: {},
    rootfs: { type: "layers", diff_ids: [layerDigest ?? content] },
    ...(note !== undefined && { [NOTE]: note }),
  };
}

/** `writing` is unique to this manifest. */
export function presentManifest(options: {
  layer: Descriptor;
  config: Descriptor;
  modified: number;
  writing: string;
}): ImageManifest {
  return {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    config: options.config,
    layers: [options.layer],
    annotations: { [CREATED]: new Date(options.modified).toISOString(), [WRITING]: options.writing },
  };
}

export function presentLayer({ digest, size }: Blob, isGzip: boolean): Descriptor {
  return { mediaType: isGzip ? MEDIA_TYPES.layer : "application/octet-stream", digest, size };
}

/** When a content was last put, by its manifest; the epoch when the manifest does not say. */
export function modifiedOf({ annotations = {} }: ImageManifest): number {
  const time = Date.parse(annotations[CREATED] ?? "");
  return Number.isNaN(time) ? 0 : time;
}

export function noteOf(config: ContentConfig): string | undefined {
  return config[NOTE];
}

function hexOf(digest: Digest): string {
  return digest.slice("sha256:".length);
}
