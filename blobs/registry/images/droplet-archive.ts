// A built image as a droplet's file: the layers above its run image, streamed into one tar.gz with `app/` and `layers/`.
import { MAX_UNPACKED_BYTES } from "../../droplet/max-unpacked-bytes.ts";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pack, type Header, type Pack } from "tar-stream";
import { z } from "zod";
import { parseJson } from "../../../kube/api/parse-json.ts";
import { gzipAdaptively } from "../../archive/adaptive-gzip.ts";
import { readTar, type TarBody } from "../../archive/tar.ts";
import type { Descriptor, ImageConfig, ImageManifest } from "../image-manifest.ts";
import type { ImageName } from "../image-name.ts";
import type { RegistryClient } from "../registry-client.ts";

const MAX_CONFIG_BYTES = 16 * 2 ** 20;
/** The most that the layers of one app may unpack to. */
const LIFECYCLE_LABEL = "io.buildpacks.lifecycle.metadata";

/** Manifest and configuration are read first, each once; the layers one after the other as the stream is read. @throws ImageNotFound, RegistryError */
export async function openDropletArchive(client: RegistryClient, image: ImageName): Promise<Readable> {
  const { manifest } = await client.getManifest(image);
  const bytes = await client.readBlob(image, manifest.config, MAX_CONFIG_BYTES);
  const config = parseJson(bytes.toString("utf8")) as ImageConfig;
  const tar = pack();
  fill(tar, { client, image, layers: listAppLayers(manifest, config), toName: nameIn(config) }).catch(
    (error: unknown) => tar.destroy(error instanceof Error ? error : new Error(String(error))),
  );
  const archive = gzipAdaptively(tar as AsyncIterable<Buffer>);
  // Whoever goes away stops the download.
  return archive.once("close", () => tar.destroy());
}

interface Source {
  client: RegistryClient;
  image: ImageName;
  layers: readonly Descriptor[];
  toName: (path: string) => string | undefined;
}

async function fill(tar: Pack, { client, image, layers, toName }: Source): Promise<void> {
  const folders = new Set<string>();
  for (const layer of layers)
    await readTar(await client.openBlob(image, layer), MAX_UNPACKED_BYTES, async (header, body) => {
      const entry = toEntry(header, toName);
      // Each layer names the folders above its own.
      if (!entry || (entry.type === "directory" && folders.has(entry.name))) return body.skip();
      if (entry.type === "directory") folders.add(entry.name);
      await addEntry(tar, entry, body);
    });
  tar.finalize();
}

async function addEntry(tar: Pack, entry: Header, body: TarBody): Promise<void> {
  if (entry.type === "file" && (entry.size ?? 0) > 0) return pipeline(body.stream(), tar.entry(entry));
  body.skip();
  await new Promise<void>((resolve, reject) =>
    tar.entry({ ...entry, size: 0 }, Buffer.alloc(0), (error) => (error ? reject(error) : resolve())),
  );
}

const KINDS = new Set(["file", "contiguous-file", "directory", "symlink", "link"]);

function toEntry(header: Header, toName: Source["toName"]): Header | undefined {
  const name = toName(header.name);
  if (name === undefined || !KINDS.has(header.type ?? "file")) return undefined;
  const type = header.type === "contiguous-file" ? "file" : header.type;
  const plain = { name, mode: header.mode, mtime: header.mtime, size: header.size, type } as Header;
  if (type === "symlink") return { ...plain, linkname: header.linkname ?? "" };
  if (type !== "link") return plain;
  const linkname = toName(header.linkname ?? "");
  return linkname === undefined ? undefined : { ...plain, linkname };
}

/** Paths of the image as those of the archive; undefined for what is neither app nor layer. */
function nameIn(config: ImageConfig): (path: string) => string | undefined {
  const folders = [
    [variable(config, "CNB_APP_DIR") ?? "/workspace", "app"],
    [variable(config, "CNB_LAYERS_DIR") ?? "/layers", "layers"],
  ].map(([folder = "", name = ""]) => ({ folder: clean(folder), name }));
  return (path) => {
    const own = clean(path);
    if (own.split("/").includes("..")) return undefined;
    for (const { folder, name } of folders) {
      if (own === folder) return name;
      if (own.startsWith(`${folder}/`)) return name + own.slice(folder.length);
    }
    return undefined;
  };
}

function clean(path: string): string {
  return path.replace(/^(\.?\/)+/, "").replace(/\/+$/, "");
}

function variable({ config }: ImageConfig, name: string): string | undefined {
  return config?.Env?.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
}

const lifecycleMetadata = z.object({ runImage: z.object({ topLayer: z.string() }) });

/** The layers above the run image, which a label of the lifecycle names; all of an image without one. */
function listAppLayers({ layers }: ImageManifest, { config, rootfs }: ImageConfig): readonly Descriptor[] {
  const parsed = lifecycleMetadata.safeParse(toJson(config?.Labels?.[LIFECYCLE_LABEL]));
  const top = parsed.success ? (rootfs?.diff_ids ?? []).indexOf(parsed.data.runImage.topLayer) : -1;
  return layers.slice(top + 1);
}

/** Undefined for a text that is no JSON. */
function toJson(text: string | undefined): unknown {
  try {
    return parseJson(text ?? "");
  } catch {
    return undefined;
  }
}
