// The content store of a cluster: an OCI registry. Each content is a single-layer image `<prefix>/<space guid>/<kind>:content-<hex>`, so that others can read it.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import pLimit from "p-limit";
import {
  blobKinds,
  BlobNotFound,
  checkBlobName,
  type Blob,
  type BlobKind,
  type BlobStore,
  type Digest,
  type PutOptions,
  type StoredBlob,
} from "../blob-store.ts";
import { parseJson } from "../../kube/api/parse-json.ts";
import {
  contentTag,
  modifiedOf,
  noteOf,
  parseContentTag,
  parseWritingTag,
  presentConfig,
  presentLayer,
  presentManifest,
  writingTag,
  type ContentConfig,
  type Writing,
} from "./content-image.ts";
import { MEDIA_TYPES, type Descriptor, type ImageManifest } from "./image-manifest.ts";
import { repositoryOf, spaceIndexRepository, type RegistryPrefix } from "./image-name.ts";
import type { Place } from "./place.ts";
import type { RegistryClient } from "./registry-client.ts";
import { ImageNotFound, RegistryError } from "./registry-error.ts";
import { bytesSource } from "./bytes-source.ts";
import { spool, type Spooled } from "./spool.ts";

export interface RegistryStoreOptions {
  client: RegistryClient;
  prefix: RegistryPrefix;
}

/** A content where it was found. */
interface Located {
  place: Place;
  /** The manifest's digest. */
  digest: string;
  manifest: ImageManifest;
  layer: Descriptor;
}

/** An index of 100,000 files has 10 MB. */
const MAX_CONFIG_BYTES = 64 * 1024 * 1024;
const REQUESTS_AT_ONCE = 8;

/** The client is the caller's to close. No request is made before the first call. */
export function createRegistryStore(options: RegistryStoreOptions): BlobStore {
  return new RegistryStore(options);
}

class RegistryStore implements BlobStore {
  readonly #client: RegistryClient;
  readonly #prefix: RegistryPrefix;

  constructor({ client, prefix }: RegistryStoreOptions) {
    this.#client = client;
    this.#prefix = prefix;
  }

  putFile(space: string, kind: BlobKind, file: string, options: { maxBytes: number }): Promise<Blob> {
    return this.put(space, kind, createReadStream(file), options);
  }

  async put(space: string, kind: BlobKind, content: Readable, { maxBytes, note, scratch }: PutOptions): Promise<Blob> {
    const place = this.#placeOf(space, kind);
    const spooled = await spool(content, { maxBytes, owner: space, beside: scratch });
    try {
      const given = note?.();
      await this.#putSpooled(space, place, spooled, { note: given }).catch((error: unknown) => {
        // The registry's garbage collection ran between the look and the manifest.
        if (error instanceof RegistryError && /BLOB_UNKNOWN$/.test(error.code ?? ""))
          return this.#putSpooled(space, place, spooled, { note: given, force: true });
        throw error;
      });
      return { digest: spooled.digest, size: spooled.size };
    } finally {
      await spooled.remove();
    }
  }

  async open(space: string, digest: Digest): Promise<Readable> {
    const { place, layer } = await this.#get(space, digest);
    return this.#client.openBlob(place, layer).catch((cause: unknown) => {
      throw cause instanceof ImageNotFound ? new BlobNotFound(space, digest, { cause }) : cause;
    });
  }

  async find(space: string, digest: Digest): Promise<Blob | undefined> {
    const found = await this.#locate(space, digest);
    return found && { digest, size: found.layer.size };
  }

  async has(space: string, digest: Digest): Promise<boolean> {
    return (await this.#locate(space, digest)) !== undefined;
  }

  async copy(from: { space: string; digest: Digest }, space: string, kind: BlobKind): Promise<void> {
    const source = await this.#get(from.space, from.digest);
    const place = this.#placeOf(space, kind);
    await this.#listSpace(space);
    const isThere =
      (await this.#client.hasBlob(place, from.digest)) ||
      (await this.#client.mountBlob(place, from.digest, source.place.repository));
    if (!isThere)
      await this.put(space, kind, await this.open(from.space, from.digest), { maxBytes: source.layer.size });
    await this.#client.uploadBlob(place, bytesSource(await this.#readConfigBytes(source)));
    const replaced = await this.#locateIn(place, from.digest);
    const { layer, manifest } = source;
    await this.#write(place, { layer, config: manifest.config, modified: Date.now() }, replaced?.digest);
  }

  async remove(space: string, digest: Digest, { lastPutBefore = Infinity }: { lastPutBefore?: number } = {}) {
    checkBlobName(space, digest);
    const perKind = blobKinds.map(async (kind) => {
      const place = this.#placeOf(space, kind);
      const writings = (await this.#listWritings(place)).filter((writing) => writing.digest === digest);
      if (writings.some(({ modified }) => modified >= lastPutBefore)) return;
      for (const { tag } of writings) {
        const manifest = (await this.#digestOf(place, tag)) ?? (await this.#refill(place, tag));
        if (manifest !== undefined) await this.#client.deleteManifest(place, manifest);
      }
      const newest = Math.max(...writings.map(({ modified }) => modified));
      if (writings.length > 0) await this.#removeUnlisted(place, digest, newest);
    });
    await Promise.all(perKind);
  }

  /** Gives a writing's tag without a manifest another one, since registries remove tags only with their manifests: a deletion that broke off may leave the tag. */
  async #refill(place: Place, tag: string): Promise<string | undefined> {
    // The content's own tag is not listed without a manifest, and a put at the same moment needs it.
    if (!parseWritingTag(tag)) return undefined;
    const config = await this.#uploadConfig(place, {});
    const manifest = presentManifest({ layer: config, config, modified: 0, writing: randomUUID() });
    const bytes = Buffer.from(JSON.stringify(manifest));
    return this.#client.pushManifest({ ...place, tag }, { mediaType: MEDIA_TYPES.manifest, bytes });
  }

  /** Two writings of one millisecond share a tag, so the content's own tag may be the only one of its manifest. A later writing stays. */
  async #removeUnlisted(place: Place, digest: Digest, newest: number): Promise<void> {
    const left = await this.#locateIn(place, digest);
    if (left && modifiedOf(left.manifest) <= newest) await this.#client.deleteManifest(place, left.digest);
  }

  async touch(space: string, digest: Digest): Promise<void> {
    const found = await this.#locate(space, digest);
    if (!found) return;
    await this.#write(
      found.place,
      { layer: found.layer, config: found.manifest.config, modified: Date.now() },
      found.digest,
    );
  }

  async list(filter: { space?: string; kind?: BlobKind } = {}): Promise<StoredBlob[]> {
    const spaces = filter.space === undefined ? await this.#client.listTags(this.#spaceIndex()) : [filter.space];
    const kinds = filter.kind === undefined ? blobKinds : [filter.kind];
    const limit = pLimit(REQUESTS_AT_ONCE);
    const lists = spaces.flatMap((space) => kinds.map((kind) => limit(() => this.#listKind(space, kind))));
    return (await Promise.all(lists)).flat();
  }

  async writeNote(space: string, digest: Digest, note: string): Promise<void> {
    const found = await this.#get(space, digest);
    const config = parseJson((await this.#readConfigBytes(found)).toString("utf8")) as ContentConfig;
    const [layerDigest] = config.rootfs?.diff_ids ?? [];
    const descriptor = await this.#uploadConfig(found.place, presentConfig(digest, layerDigest, note));
    const { layer, manifest } = found;
    await this.#write(found.place, { layer, config: descriptor, modified: modifiedOf(manifest) }, found.digest);
  }

  async findNote(space: string, digest: Digest): Promise<string | undefined> {
    const found = await this.#locate(space, digest);
    return found && noteOf(parseJson((await this.#readConfigBytes(found)).toString("utf8")) as ContentConfig);
  }

  /** All that the manifest names is sent at once: each request of a registry takes some milliseconds. */
  async #putSpooled(
    space: string,
    place: Place,
    { source, layerDigest, ...blob }: Spooled,
    { note, force = false }: { note: string | undefined; force?: boolean },
  ): Promise<void> {
    const located = this.#locateIn(place, blob.digest);
    const provideConfig = async (): Promise<Descriptor> => {
      const kept = note === undefined && !force ? (await located)?.manifest.config : undefined;
      return kept ?? this.#uploadConfig(place, presentConfig(blob.digest, layerDigest, note));
    };
    const [existing, config] = await allEnded([
      located,
      provideConfig(),
      this.#client.uploadBlob(place, source, { force }),
      this.#listSpace(space),
    ]);
    const layer = presentLayer(blob, layerDigest !== undefined);
    await this.#write(place, { layer, config, modified: Date.now() }, existing?.digest);
  }

  /** The tag of the writing first: a content that is found is listed, too. The manifest that this one replaces goes last. */
  async #write(
    place: Place,
    content: { layer: Descriptor; config: Descriptor; modified: number },
    replaced?: string,
  ): Promise<void> {
    const { digest, size } = content.layer;
    const manifest = presentManifest({ ...content, writing: randomUUID() });
    const bytes = Buffer.from(JSON.stringify(manifest));
    for (const tag of [writingTag({ digest, size, modified: content.modified }), contentTag(digest)])
      await this.#client.pushManifest({ ...place, tag }, { mediaType: MEDIA_TYPES.manifest, bytes });
    if (replaced !== undefined) await this.#client.deleteManifest(place, replaced);
  }

  async #uploadConfig(place: Place, config: ContentConfig): Promise<Descriptor> {
    const source = bytesSource(Buffer.from(JSON.stringify(config)));
    await this.#client.uploadBlob(place, source);
    return { mediaType: MEDIA_TYPES.config, digest: source.digest, size: source.size };
  }

  #readConfigBytes({ place, manifest }: Located): Promise<Buffer> {
    return this.#client.readBlob(place, manifest.config, MAX_CONFIG_BYTES);
  }

  async #get(space: string, digest: Digest): Promise<Located> {
    const found = await this.#locate(space, digest);
    if (!found) throw new BlobNotFound(space, digest);
    return found;
  }

  async #locate(space: string, digest: Digest): Promise<Located | undefined> {
    checkBlobName(space, digest);
    const found = await Promise.all(blobKinds.map((kind) => this.#locateIn(this.#placeOf(space, kind), digest)));
    return found.find((one) => one !== undefined);
  }

  async #locateIn(place: Place, digest: Digest): Promise<Located | undefined> {
    const raw = await this.#client.findManifest({ ...place, tag: contentTag(digest) });
    if (!raw) return undefined;
    const manifest = parseJson(raw.bytes.toString("utf8")) as ImageManifest;
    // A tag that somebody else made is no content of this name.
    const layer = manifest.layers?.find((one) => one.digest === digest);
    return layer && { place, digest: raw.digest, manifest, layer };
  }

  async #listKind(space: string, kind: BlobKind): Promise<StoredBlob[]> {
    const newest = new Map<Digest, Writing>();
    for (const writing of await this.#listWritings(this.#placeOf(space, kind)))
      if (writing.modified >= (newest.get(writing.digest)?.modified ?? 0)) newest.set(writing.digest, writing);
    return [...newest.values()].map(({ digest, size, modified }) => ({ space, kind, digest, size, modified }));
  }

  /** A content has several writings when replicas wrote at once, and for moments while one replaces another. */
  async #listWritings(place: Place): Promise<(Writing & { tag: string })[]> {
    const tags = await this.#client.listTags(place);
    const writings = tags.flatMap((tag) => {
      const writing = parseWritingTag(tag);
      return writing ? [{ ...writing, tag }] : [];
    });
    const known = new Set(writings.map(({ digest }) => digest));
    for (const tag of tags) {
      const digest = parseContentTag(tag);
      if (digest === undefined || known.has(digest)) continue;
      // Its other tag went with a removal at the same moment.
      const found = await this.#locateIn(place, digest);
      if (found) writings.push({ tag, digest, size: found.layer.size, modified: modifiedOf(found.manifest) });
    }
    return writings;
  }

  async #digestOf(place: Place, tag: string): Promise<string | undefined> {
    return this.#client.resolve({ ...place, tag }).catch((error: unknown) => {
      if (error instanceof ImageNotFound) return undefined;
      throw error;
    });
  }

  /** Names the space in the index that `list` reads, before it gets its first content. */
  async #listSpace(space: string): Promise<void> {
    const image = { ...this.#spaceIndex(), tag: space };
    if (await this.#client.exists(image)) return;
    const config = await this.#uploadConfig(image, {});
    const manifest: ImageManifest = { schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config, layers: [] };
    await this.#client.pushManifest(image, {
      mediaType: MEDIA_TYPES.manifest,
      bytes: Buffer.from(JSON.stringify(manifest)),
    });
  }

  #spaceIndex(): Place {
    return { host: this.#prefix.host, repository: spaceIndexRepository(this.#prefix) };
  }

  #placeOf(space: string, kind: BlobKind): Place {
    return { host: this.#prefix.host, repository: repositoryOf(this.#prefix, space, kind) };
  }
}

/** As Promise.all, but what is left goes on to its end before an error is thrown: it may read a file that the caller removes. */
async function allEnded<T extends readonly unknown[]>(work: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  await Promise.allSettled(work);
  return (await Promise.all(work)) as unknown as T;
}
