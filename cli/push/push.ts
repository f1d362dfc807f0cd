// `cup push`: manifest, upload, build, start, for one app or all of a manifest.
import type { Resource } from "../api/client.ts";
import { readUrls } from "../app/process-state.ts";
import { waitUntilRunning } from "../app/wait-running.ts";
import type { Context } from "../context.ts";
import type { Result } from "../output.ts";
import { readSource, type Source } from "./pack-source.ts";
import { afterInterrupt, tellAtInterrupt, type Phase } from "./interrupt.ts";
import { readManifest, sourceOf, toYaml, type Application, type Manifest } from "./manifest.ts";
import type { PushOptions } from "./options.ts";
import { stage, waitUntilPackageReady } from "./stage.ts";
import { toApp, uploadSource } from "./upload.ts";

export interface PushedApp {
  name: string;
  guid: string;
  urls: string[];
  text: string[];
}

/** How one app is pushed. */
interface PushMode {
  start: boolean;
  /** Told when the next phase begins. */
  onPhase?: (phase: Phase) => void;
}

export async function push(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  const manifest = readManifest(name, options);
  let now = { phase: "packing" as Phase, app: "" };
  const undo = tellAtInterrupt(() => afterInterrupt(now.phase, now.app));
  try {
    // All sources first: a wrong path must not leave half of a manifest behind.
    const sources = await readSources(context, manifest);
    const pushed: PushedApp[] = [];
    for (const [at, app] of manifest.applications.entries()) {
      const onPhase = (phase: Phase): void => void (now = { phase, app: app.name });
      pushed.push(await pushSource(context, app, sources[at], { start: options.start !== false, onPhase }));
    }
    return { json: pushed.length === 1 ? pushed[0] : pushed, text: pushed.flatMap((one) => one.text) };
  } finally {
    undo();
  }
}

/** One app, from its manifest entry to running instances. */
export async function pushApp(
  context: Context,
  entry: Application,
  { manifest, start }: { manifest: Manifest; start: boolean },
): Promise<PushedApp> {
  const [source] = await readSources(context, { ...manifest, applications: [entry] });
  return pushSource(context, entry, source, { start });
}

/** Of each app in order; undefined for one that is an image. @throws Failure (usage) */
async function readSources({ progress }: Context, { applications, folder }: Manifest): Promise<(Source | undefined)[]> {
  const sources = [];
  for (const entry of applications) {
    const source = sourceOf(entry, folder);
    if (!entry.docker?.image) progress.step(`Reading ${source}`);
    sources.push(entry.docker?.image ? undefined : await readSource(source));
  }
  return sources;
}

async function pushSource(
  context: Context,
  entry: Application,
  source: Source | undefined,
  { start, onPhase = () => undefined }: PushMode,
): Promise<PushedApp> {
  const { api, progress } = context;
  onPhase("uploading");
  const app = await applyManifest(context, entry);
  const packageGuid = source ? await upload(context, app, source) : await imagePackage(context, app, entry);
  onPhase("building");
  progress.step(`Building ${entry.name}`);
  await stage(context, app, packageGuid);
  if (start) {
    onPhase("starting");
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

async function applyManifest(context: Context, entry: Application): Promise<Resource> {
  const { api, progress } = context;
  const space = await context.space();
  progress.step(`Applying the manifest of ${entry.name}`);
  await api.waitForJob(
    (await api.start("POST", `/v3/spaces/${space.guid}/actions/apply_manifest`, { body: { yaml: toYaml(entry) } })).job,
  );
  return context.app(entry.name);
}

async function imagePackage(context: Context, app: Resource, entry: Application): Promise<string> {
  const made = await context.api.request<Resource>("POST", "/v3/packages", {
    body: { type: "docker", data: { image: entry.docker?.image }, relationships: toApp(app) },
  });
  return made.guid;
}

/** The package's GUID, once it can be built. */
export async function upload(context: Context, app: Resource, source: Source): Promise<string> {
  const made = await context.api.request<Resource>("POST", "/v3/packages", {
    body: { type: "bits", relationships: toApp(app) },
  });
  await uploadSource(context, made.guid, source);
  await waitUntilPackageReady(context, made.guid);
  return made.guid;
}
