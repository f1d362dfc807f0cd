// Pushes an image layout to a test's registry: the few requests of the OCI distribution protocol, over plain http.
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";

/** A registry as `TestNode.registry` names it. */
export interface PushTarget {
  host: string;
  username: string;
  password: string;
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

const DEADLINE_MS = 60_000;

/** Pushes the one image of `layout` (a folder that `writeImage` wrote) as `<host>/<name>`; `name` ends in a tag. Returns its digest. */
export async function pushImage(layout: string, name: string, registry: PushTarget): Promise<string> {
  const [, repository, tag] = /^(.+):([^:/]+)$/.exec(name) ?? [];
  if (!repository || !tag) throw new Error(`"${name}" has no tag: write one, as in apps/probe:1`);
  const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as { manifests: Descriptor[] };
  const [descriptor] = index.manifests;
  if (!descriptor) throw new Error(`${layout} holds no image`);
  const text = readFileSync(blobFile(layout, descriptor.digest), "utf8");
  const manifest = JSON.parse(text) as { config: Descriptor; layers: Descriptor[] };
  const base = `http://${registry.host}/v2/${repository}`;
  for (const blob of [...manifest.layers, manifest.config]) await pushBlob(base, layout, blob, registry);
  const headers = { "content-type": descriptor.mediaType };
  await send("PUT", `${base}/manifests/${tag}`, registry, { headers, body: text });
  return descriptor.digest;
}

async function pushBlob(base: string, layout: string, blob: Descriptor, registry: PushTarget): Promise<void> {
  const location = new URL(await send("POST", `${base}/blobs/uploads/`, registry), base);
  location.searchParams.set("digest", blob.digest);
  const headers = { "content-type": "application/octet-stream", "content-length": String(blob.size) };
  await send("PUT", location.href, registry, { headers, body: createReadStream(blobFile(layout, blob.digest)) });
}

/** @returns the header `location` */
async function send(
  method: "POST" | "PUT",
  url: string,
  { username, password }: PushTarget,
  content: Pick<NonNullable<Parameters<typeof request>[1]>, "body" | "headers"> = {},
): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const { statusCode, headers, body } = await request(url, {
    method,
    ...content,
    headers: { ...content.headers, authorization },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await body.text();
  if (statusCode >= 300) throw new Error(`${method} ${url} was answered ${statusCode}: ${text.slice(0, 500)}`);
  return String(headers["location"] ?? "");
}

function blobFile(layout: string, digest: string): string {
  return join(layout, "blobs", ...digest.split(":"));
}
