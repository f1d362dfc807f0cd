// `cup push`: manifest, upload, build, start, for one app or all of a manifest.
import { openAsBlob } from "node:fs";
import type { Resource } from "../api/client.ts";
import { readUrls } from "../app/process-state.ts";
import { waitUntilRunning } from "../app/wait-running.ts";
import type { Context } from "../context.ts";
import type { Result } from "../output.ts";
import { packSource, type Archive } from "./pack-source.ts";
import { readManifest, sourceOf, toYaml, type Application, type Manifest } from "./manifest.ts";
import type { PushOptions } from "./options.ts";
import { stage, waitUntilPackageReady } from "./stage.ts";

const UPLOAD_DEADLINE_MS = 15 * 60_000;

export async function push(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  const manifest = readManifest(name, options);
  const pushed = [];
  for (const app of manifest.applications)
    pushed.push(await pushApp(context, app, { manifest, start: options.start !== false }));
  return { json: pushed.length === 1 ? pushed[0] : pushed, text: pushed.flatMap((one) => one.text) };
}

/** One app, from its manifest entry to running instances. */
export async function pushApp(
  context: Context,
  entry: Application,
  { manifest, start }: { manifest: Manifest; start: boolean },
): Promise<{ name: string; guid: string; urls: string[]; text: string[] }> {
  const { api, progress } = context;
  // Packed first: a wrong path must not leave an app behind.
  const archive = entry.docker?.image ? undefined : await pack(context, sourceOf(entry, manifest.folder));
  const app = await applyManifest(context, entry);
  const packageGuid = archive
    ? await upload(context, app, archive)
    : await imagePackage(context, app, entry.docker?.image ?? "");
  progress.step(`Building ${entry.name}`);
  await stage(context, app, packageGuid);
  if (start) {
    progress.step(`Starting ${entry.name}`);
    await api.request("POST", `/v3/apps/${app.guid}/actions/${app["state"] === "STARTED" ? "restart" : "start"}`);
    await waitUntilRunning(context, app);
  }
  const urls = await readUrls(context, app);
  return {
    name: app.name,
    guid: app.guid,
    urls,
    text: [
      start
        ? `${app.name} runs${urls.length > 0 ? `: ${urls.join(", ")}` : "; it has no route"}`
        : `${app.name} is built. Next: cup start ${app.name}`,
    ],
  };
}

function pack({ progress }: Context, source: string): Promise<Archive> {
  progress.step(`Packing ${source}`);
  return packSource(source);
}

async function applyManifest(context: Context, entry: Application): Promise<Resource> {
  const { api, progress } = context;
  const space = await context.space();
  progress.step(`Applying the manifest of ${entry.name}`);
  await api.waitForJob(
    (await api.start("POST", `/v3/spaces/${space.guid}/actions/apply_manifest`, { body: { yaml: toYaml(entry) } })).job,
  );
  return context.app(entry.name);
}

async function imagePackage(context: Context, app: Resource, image: string): Promise<string> {
  const made = await context.api.request<Resource>("POST", "/v3/packages", {
    body: { type: "docker", data: { image }, relationships: toApp(app) },
  });
  return made.guid;
}

async function upload(context: Context, app: Resource, archive: Archive): Promise<string> {
  const { api, progress } = context;
  try {
    const made = await api.request<Resource>("POST", "/v3/packages", {
      body: { type: "bits", relationships: toApp(app) },
    });
    const form = new FormData();
    form.set("bits", await openAsBlob(archive.file), "source.zip");
    progress.step("Uploading");
    await api.request("POST", `/v3/packages/${made.guid}/upload`, { body: form, deadlineMs: UPLOAD_DEADLINE_MS });
    await waitUntilPackageReady(context, made.guid);
    return made.guid;
  } finally {
    await archive.dispose();
  }
}

function toApp(app: Resource): { app: { data: { guid: string } } } {
  return { app: { data: { guid: app.guid } } };
}
