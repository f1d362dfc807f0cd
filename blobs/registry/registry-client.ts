// A client of OCI registries: images, their configurations, blobs and tags. It knows nothing of spaces.
import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { parseJson } from "../../kube/api/parse-json.ts";
import { openBlob, type WantedBlob } from "./blob-download.ts";
import { hasBlob, mountBlob, uploadBlob, type BlobSource, type UploadOptions } from "./blob-upload.ts";
import {
  findPlatform,
  isIndex,
  MEDIA_TYPES,
  type ImageConfig,
  type ImageIndex,
  type ImageManifest,
  type Platform,
} from "./image-manifest.ts";
import { formatImageName, type ImageName } from "./image-name.ts";
import { deleteScope, pullScope, pushScope, type Place } from "./place.ts";
import { readBody } from "./read-body.ts";
import { ImageNotFound, RegistryError, WrongDigest } from "./registry-error.ts";
import { createRegistryHTTP, type RegistryCall, type RegistryHTTP, type RegistryHTTPOptions } from "./registry-http.ts";
import { retryDelay } from "./retry-delay.ts";

/** A manifest as the registry has it. */
export interface RawManifest {
  digest: string;
  mediaType: string;
  bytes: Buffer;
}

/** All methods throw RegistryError when the registry is away or refuses. */
export interface RegistryClient {
  /** A request that needs the credentials. */
  ping(host: string): Promise<void>;
  /** The digest that a name stands for now. @throws ImageNotFound */
  resolve(image: ImageName): Promise<string>;
  exists(image: ImageName): Promise<boolean>;
  /** Manifest or index, unparsed and verified; undefined when there is none. */
  findManifest(image: ImageName): Promise<RawManifest | undefined>;
  /** Resolves an index to the image of the platform, by default linux on this machine's architecture. @throws ImageNotFound */
  getManifest(image: ImageName, platform?: Platform): Promise<{ digest: string; manifest: ImageManifest }>;
  /** The configuration, and the digest of the manifest that has it. @throws ImageNotFound */
  getConfig(image: ImageName, platform?: Platform): Promise<{ digest: string; config: ImageConfig }>;
  /** A stream that resumes and fails on wrong content. @throws ImageNotFound */
  openBlob(place: Place, blob: WantedBlob): Promise<Readable>;
  /** The whole blob, `maxBytes` at most. @throws ImageNotFound */
  readBlob(place: Place, blob: WantedBlob, maxBytes: number): Promise<Buffer>;
  hasBlob(place: Place, digest: string): Promise<boolean>;
  uploadBlob(place: Place, source: BlobSource, options?: UploadOptions): Promise<void>;
  /** Gives `place` the blob that the repository `from` of the same registry has; false where the registry does not do that. */
  mountBlob(place: Place, digest: string, from: string): Promise<boolean>;
  /** Under its tag, or its digest where it has no tag; its blobs must be there. Returns the digest. */
  pushManifest(image: ImageName, manifest: { mediaType: string; bytes: Buffer }): Promise<string>;
  /** Removes it and all its tags; a manifest that is gone is no error. */
  deleteManifest(place: Place, digest: string): Promise<void>;
  /** All tags; none where the repository does not exist. */
  listTags(place: Place): Promise<string[]>;
  /** All repositories that the credentials see; undefined where the registry does not list them. */
  listRepositories(host: string): Promise<string[] | undefined>;
  close(): Promise<void>;
}

const ACCEPT = Object.values(MEDIA_TYPES)
  .filter((type) => type.includes("manifest") || type.includes("index"))
  .join(", ");
const MAX_CONFIG_BYTES = 16 * 1024 * 1024;
const READ_DEADLINE_MS = 60_000;
const MAX_PAGES = 10_000;

export function createRegistryClient(options: RegistryHTTPOptions): RegistryClient {
  const http = createRegistryHTTP(options);
  const client: RegistryClient = {
    async ping(host) {
      await http.call({ method: "GET", registry: host, target: "/v2/", scopes: [], retries: false, expected: [200] });
    },
    resolve: (image) => resolveImage(http, image),
    exists: (image) =>
      resolveImage(http, image).then(
        () => true,
        (error: unknown) => ifNotFound(error, false),
      ),
    findManifest: (image) => findManifest(http, image),
    getManifest: (image, platform = ownPlatform()) => getManifest(http, image, platform),
    async getConfig(image, platform = ownPlatform()) {
      const { digest, manifest } = await getManifest(http, image, platform);
      const bytes = await client.readBlob(image, manifest.config, MAX_CONFIG_BYTES);
      return { digest, config: parse<ImageConfig>(bytes, image) };
    },
    openBlob: (place, blob) => openBlob(http, place, blob),
    readBlob: async (place, blob, maxBytes) => readBody(await openBlob(http, place, blob), maxBytes, READ_DEADLINE_MS),
    hasBlob: (place, digest) => hasBlob(http, place, digest),
    uploadBlob: (place, source, more) => uploadBlob(http, place, source, more),
    mountBlob: (place, digest, from) => mountBlob(http, place, digest, from),
    pushManifest: (image, manifest) => pushManifest(http, image, manifest),
    deleteManifest: (place, digest) => deleteManifest(http, place, digest),
    listTags: (place) => listTags(http, place),
    listRepositories: (host) => listRepositories(http, host),
    close: () => http.close(),
  };
  return client;
}

/** Linux on this machine's architecture. */
function ownPlatform(): Platform {
  const { arch } = process;
  return { os: "linux", architecture: arch === "x64" ? "amd64" : arch };
}

async function resolveImage(http: RegistryHTTP, image: ImageName): Promise<string> {
  const { status, header } = await http.call({ ...manifestCall(image), method: "HEAD" });
  if (status === 404) throw new ImageNotFound(formatImageName(image));
  const digest = image.digest ?? header("docker-content-digest");
  if (digest !== undefined) return digest;
  const manifest = await findManifest(http, image);
  if (!manifest) throw new ImageNotFound(formatImageName(image));
  return manifest.digest;
}

function manifestCall(image: ImageName) {
  return {
    registry: image.host,
    target: `/v2/${image.repository}/manifests/${image.digest ?? image.tag}`,
    scopes: [pullScope(image)],
    headers: { accept: ACCEPT },
    expected: [200, 404],
  };
}

async function findManifest(http: RegistryHTTP, image: ImageName): Promise<RawManifest | undefined> {
  const { status, header, body: bytes } = await http.call({ ...manifestCall(image), method: "GET" });
  if (status === 404) return undefined;
  const [algorithm = "sha256"] = (image.digest ?? "sha256").split(":");
  const digest = `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
  if (image.digest !== undefined && image.digest !== digest)
    throw new WrongDigest(image.digest, `the registry ${image.host}`);
  const named = (header("content-type") ?? "").split(";")[0]?.trim();
  const { mediaType = named } = parse<{ mediaType?: string }>(bytes, image);
  return { digest, mediaType: mediaType ?? "", bytes };
}

async function getManifest(
  http: RegistryHTTP,
  image: ImageName,
  platform: Platform,
): Promise<{ digest: string; manifest: ImageManifest }> {
  const found = await findManifest(http, image);
  if (!found) throw new ImageNotFound(formatImageName(image));
  if (!isIndex(found.mediaType))
    return { digest: found.digest, manifest: checkManifest(parse<ImageManifest>(found.bytes, image), image) };
  const entry = findPlatform(parse<ImageIndex>(found.bytes, image), platform);
  if (!entry) throw new ImageNotFound(`${formatImageName(image)} for ${platform.os}/${platform.architecture}`);
  const { host, repository } = image;
  const chosen = await findManifest(http, { host, repository, digest: entry.digest });
  if (!chosen) throw new ImageNotFound(`${host}/${repository}@${entry.digest}`);
  return { digest: chosen.digest, manifest: checkManifest(parse<ImageManifest>(chosen.bytes, image), image) };
}

/** Schema 1 and artifacts of other tools have no config or layers. */
function checkManifest(manifest: ImageManifest, image: ImageName): ImageManifest {
  if (typeof manifest.config?.digest !== "string" || !Array.isArray(manifest.layers))
    throw new RegistryError(`${formatImageName(image)} is no image of a kind that runs today`, { status: 415 });
  return manifest;
}

async function pushManifest(
  http: RegistryHTTP,
  image: ImageName,
  { mediaType, bytes }: { mediaType: string; bytes: Buffer },
): Promise<string> {
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const call: RegistryCall = {
    method: "PUT",
    registry: image.host,
    target: `/v2/${image.repository}/manifests/${image.tag ?? digest}`,
    scopes: [pushScope(image)],
    headers: { "content-type": mediaType },
    body: () => bytes,
    expected: [201, 202],
  };
  for (let failures = 1; ; failures++) {
    try {
      await http.call(call);
      return digest;
    } catch (error) {
      await pauseAfterRace(error, failures);
    }
  }
}

/** docker-registry on a disk answers so while another client pushes what the manifest names: for a moment the file with a digest is empty. @throws `error` if it is another one */
async function pauseAfterRace(error: unknown, failures: number): Promise<void> {
  const isRace = error instanceof RegistryError && error.status === 400 && error.code === "DIGEST_INVALID";
  const pause = isRace ? retryDelay({ failures, status: 0 }, Date.now(), Math.random()) : undefined;
  if (pause === undefined) throw error;
  await delay(pause);
}

async function deleteManifest(http: RegistryHTTP, place: Place, digest: string): Promise<void> {
  await http.call({
    method: "DELETE",
    registry: place.host,
    target: `/v2/${place.repository}/manifests/${digest}`,
    scopes: [deleteScope(place)],
    expected: [200, 202, 404],
  });
}

async function listTags(http: RegistryHTTP, place: Place): Promise<string[]> {
  const target = `/v2/${place.repository}/tags/list?n=1000`;
  const call = {
    method: "GET",
    registry: place.host,
    target,
    scopes: [pullScope(place)],
    expected: [200, 404],
  } as const;
  return (await listPages(http, call, place, "tags")) ?? [];
}

async function listRepositories(http: RegistryHTTP, host: string): Promise<string[] | undefined> {
  const target = "/v2/_catalog?n=1000";
  const scopes = ["registry:catalog:*"];
  const expected = [200, 401, 403, 404, 405, 501];
  const place = { host, repository: "its catalog" };
  return listPages(http, { method: "GET", registry: host, target, scopes, expected }, place, "repositories");
}

/** The strings of one field of all pages; undefined when a page is answered otherwise than 200. */
async function listPages(
  http: RegistryHTTP,
  call: RegistryCall,
  place: Place,
  field: "tags" | "repositories",
): Promise<string[] | undefined> {
  const found: string[] = [];
  let target = call.target;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const answer = await http.call({ ...call, target });
    if (answer.status !== 200) return undefined;
    found.push(...(parse<Record<string, string[] | null>>(answer.body, place)[field] ?? []));
    const [, next] = /<([^>]+)>\s*;\s*rel="?next/.exec(answer.header("link") ?? "") ?? [];
    if (next === undefined) return found;
    target = new URL(next, answer.url);
  }
  throw new RegistryError(`${place.host} lists more than ${MAX_PAGES} pages for ${place.repository}`);
}

/** A registry's JSON is an object, or the registry is none. */
function parse<T extends object>(bytes: Buffer, { host, repository }: Place): T {
  const broken = new RegistryError(`the registry ${host} sent something else than JSON for ${repository}`);
  try {
    const value = parseJson(bytes.toString("utf8"));
    if (typeof value === "object" && value !== null) return value as T;
  } catch {
    throw broken;
  }
  throw broken;
}

function ifNotFound<T>(error: unknown, instead: T): T {
  if (error instanceof ImageNotFound) return instead;
  throw error;
}
