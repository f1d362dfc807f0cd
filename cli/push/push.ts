// `cup push`: manifest, upload, build, start, for one app or all of a manifest.
import type { Resource } from "../api/client.ts";
import { readUrls } from "../app/process-state.ts";
import { toMegabytes } from "../app/to-megabytes.ts";
import { waitUntilRunning } from "../app/wait-running.ts";
import type { Context } from "../context.ts";
import { findOwnCupola } from "../target/resolve-target.ts";
import { Failure } from "../failure.ts";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { startDeployment, tellEnd, waitForDeployment, type DeployOptions } from "../rollout/deployment.ts";
import type { Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { withSource } from "./advice.ts";
import type { PushedFolder } from "./check-toolchain.ts";
import { readSource, type Source } from "./pack-source.ts";
import { afterInterrupt, tellAtInterrupt, type Phase } from "./interrupt.ts";
import { readManifest, sourceOf, toYaml, type Application, type Manifest } from "./manifest.ts";
import type { PushOptions } from "./options.ts";
import { findLastLine, stage, waitUntilPackageReady } from "./stage.ts";
import { packSource, toApp, uploadPacked, type Packed } from "./upload.ts";
import { withAdvice } from "./with-advice.ts";
import { withWorkspace } from "./workspace-root.ts";

export interface PushedApp {
  name: string;
  guid: string;
  urls: string[];
  text: string[];
}

/** How one app is pushed. */
interface PushMode {
  /** Resolves when its Sources are checked. */
  checked: Promise<unknown>;
  start: boolean;
  /** How instances are replaced; they are restarted unless it is given. Never without `start`. */
  rollout?: DeployOptions | undefined;
  /** Told when the next phase begins. */
  onPhase?: (phase: Phase) => void;
}

/** The apps to push, in the order of the manifest. */
interface Sources {
  /** Undefined for an image. */
  list: (Source | undefined)[];
  /** Rejects with a Failure when this machine cannot build one. Nothing is written before. */
  checked: Promise<unknown>;
}

export async function push(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  let now = { phase: "packing" as Phase, app: "" };
  const undo = tellAtInterrupt(() => afterInterrupt(now, options));
  try {
    const manifest = readManifest(name, options);
    // All sources first: a wrong path must not leave half of a manifest behind.
    const { list, checked } = await readSources(context, manifest);
    const pushed: PushedApp[] = [];
    for (const [at, app] of manifest.applications.entries()) {
      const onPhase = (phase: Phase): void => void (now = { phase, app: app.name });
      const mode = { checked, start: options.start !== false, rollout: toRollout(options), onPhase };
      pushed.push(
        await pushSource(context, app, list[at], mode).catch((error: unknown) => {
          throw withWorkspace(error, { app: app.name, folder: sourceOf(app, manifest.folder) });
        }),
      );
    }
    return { json: pushed.length === 1 ? pushed[0] : pushed, text: pushed.flatMap((one) => one.text) };
  } catch (error) {
    throw withSource(error, options);
  } finally {
    undo();
  }
}

/** An app, from its manifest entry to running instances. */
export async function pushApp(
  context: Context,
  entry: Application,
  { manifest, start }: { manifest: Manifest; start: boolean },
): Promise<PushedApp> {
  const { list, checked } = await readSources(context, { ...manifest, applications: [entry] });
  return pushSource(context, entry, list[0], { checked, start });
}

/** @throws Failure (usage) */
async function readSources(context: Context, { applications, folder }: Manifest): Promise<Sources> {
  const list: (Source | undefined)[] = [];
  const checks: Promise<void>[] = [];
  const local = findOwnCupola(context.target.api);
  for (const entry of applications) {
    const path = sourceOf(entry, folder);
    if (!entry.docker?.image) context.progress.step(`Reading ${path}`);
    const source = entry.docker?.image ? undefined : await readSource(path);
    list.push(source);
    if (!source || !("files" in source) || local?.path === undefined) continue;
    const check = checkHere(context, entry, { folder: path, path: local.path, files: source.files });
    check.catch(() => undefined); // whoever waits for all is told
    checks.push(check);
  }
  return { list, checked: Promise.all(checks) };
}

/** The check is loaded where it is needed: only for a laptop's own Cupola. */
async function checkHere(context: Context, entry: Application, pushed: PushedFolder): Promise<void> {
  const { checkToolchain } = await import("./check-toolchain.ts");
  await checkToolchain(context, entry, pushed);
}

async function pushSource(
  context: Context,
  entry: Application,
  source: Source | undefined,
  { checked, start, rollout, onPhase = () => undefined }: PushMode,
): Promise<PushedApp> {
  const { progress } = context;
  onPhase("uploading");
  const { app, ...sent } = await sendPackage(context, entry, { source, checked });
  onPhase("building");
  progress.step(`Building ${entry.name}`);
  const memoryMB = entry["memory"] ? toMegabytes(String(entry["memory"])) : undefined;
  let starting: Promise<void> | undefined;
  const onSet = (): void => {
    if (!start) return;
    onPhase("starting");
    starting = requestStart(context, app);
    starting.catch(() => undefined); // told below, after the build's last lines
  };
  const droplet = await stage(context, app, { ...sent, memoryMB, setsDroplet: !rollout, onSet });
  if (start) {
    onPhase("starting");
    progress.step(`Starting ${entry.name}`);
  }
  const paused = rollout ? await rollOut(context, app, { droplet, rollout }) : undefined;
  await starting;
  if (start && !rollout) await waitUntilRunning(context, app);
  const urls = await readUrls(context, app);
  const text = paused ?? [
    start ? tellRunning(app, urls) : `${app.name} is built. Next: cup start ${quoteForShell(app.name)}`,
  ];
  return { name: app.name, guid: app.guid, urls, text };
}

/** The app and its new package. The source is packed while it is checked, and while the platform applies the manifest. */
async function sendPackage(
  context: Context,
  entry: Application,
  { source, checked }: { source: Source | undefined; checked: Promise<unknown> },
): Promise<SentPackage & { app: Resource }> {
  if (!source) {
    await checked;
    const app = await applyManifest(context, entry);
    return { app, packageGuid: await imagePackage(context, app, entry) };
  }
  return withPacking(context, source, async (packing) => {
    await checked;
    const app = await applyManifest(context, entry);
    return { app, ...(await uploadBits(context, app, packing)) };
  });
}

function tellRunning(app: Resource, urls: readonly string[]): string {
  return `${app.name} runs${urls.length > 0 ? `: ${urls.join(", ")}` : "; it has no route"}`;
}

async function requestStart(context: Context, app: Resource): Promise<void> {
  const action = app["state"] === "STARTED" ? "restart" : "start";
  await withAdvice(context, { app: app.name, command: `cup push ${quoteForShell(app.name)}` }, () =>
    context.api.request("POST", `/v3/apps/${app.guid}/actions/${action}`),
  );
}

/** Replaces the instances. What is to be said when it pauses; undefined when the new version runs. */
async function rollOut(
  context: Context,
  app: Resource,
  { droplet, rollout }: { droplet: string; rollout: DeployOptions },
): Promise<string[] | undefined> {
  const started = await startDeployment(context, app, { source: { droplet: { guid: droplet } }, options: rollout });
  const deployment = await waitForDeployment(context, app, started.guid);
  if (deployment.status.reason === "PAUSED") return tellEnd(deployment, app.name);
  if (app["state"] !== "STARTED") await waitUntilRunning(context, app);
  return undefined;
}

function toRollout({ strategy, maxInFlight, steps, start }: PushOptions): DeployOptions | undefined {
  if (strategy && start !== false) return omitUndefined({ strategy, maxInFlight, steps });
  if (maxInFlight === undefined && !steps && !strategy) return undefined;
  const what = strategy
    ? "--no-start leaves nothing for --strategy to replace"
    : "--max-in-flight and --steps need --strategy";
  throw new Failure(what, { kind: "usage", next: "cup help push" });
}

async function applyManifest(context: Context, entry: Application): Promise<Resource> {
  const { api, progress } = context;
  const space = await context.space();
  progress.step(`Applying the manifest of ${entry.name}`);
  // Most pushes are of an app that is there: it is found meanwhile.
  const existing = context.app(entry.name).catch(() => undefined);
  const instances = typeof entry["instances"] === "number" ? entry["instances"] : undefined;
  const asked = { app: entry.name, command: `cup push ${quoteForShell(entry.name)}`, instances };
  await withAdvice(context, asked, async () => {
    const path = `/v3/spaces/${space.guid}/actions/apply_manifest`;
    await api.waitForJob((await api.start("POST", path, { body: { yaml: toYaml(entry) } })).job);
  });
  return (await existing) ?? context.app(entry.name);
}

async function imagePackage(context: Context, app: Resource, entry: Application): Promise<string> {
  const made = await context.api.request<Resource>("POST", "/v3/packages", {
    body: { type: "docker", data: { image: entry.docker?.image }, relationships: toApp(app) },
  });
  return made.guid;
}

/** A package that can be built. */
interface SentPackage {
  packageGuid: string;
  /** As findLastLine answers. */
  earlierLog?: Promise<bigint | undefined>;
}

/** A package of the source, once it can be built. */
export async function upload(context: Context, app: Resource, source: Source): Promise<SentPackage> {
  return withPacking(context, source, (packing) => uploadBits(context, app, packing));
}

/** Packs while `use` runs. A failure of `use` ends the packing and does not wait for it. */
async function withPacking<T>(
  context: Context,
  source: Source,
  use: (packing: Promise<Packed>) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const packing = packSource(context, source, stop.signal);
  const archive = packing.then(
    (packed) => packed.archive,
    () => undefined, // told where its result is needed
  );
  try {
    const result = await use(packing);
    await (await archive)?.dispose();
    return result;
  } catch (error) {
    stop.abort();
    void archive.then((packed) => packed?.dispose()).catch(() => undefined);
    throw error;
  }
}

async function uploadBits(context: Context, app: Resource, packing: Promise<Packed>): Promise<SentPackage> {
  const made = await context.api.request<Resource>("POST", "/v3/packages", {
    body: { type: "bits", relationships: toApp(app) },
  });
  let earlierLog: Promise<bigint | undefined> | undefined;
  // Not earlier: lines of a build before may come until then. Not later: the platform keeps the upload meanwhile.
  const onSent = (): void => void (earlierLog = findLastLine(context.api, app));
  const state = await uploadPacked(context, made.guid, await packing, onSent);
  if (state !== "READY") await waitUntilPackageReady(context, made.guid);
  return { packageGuid: made.guid, ...(earlierLog && { earlierLog }) };
}
