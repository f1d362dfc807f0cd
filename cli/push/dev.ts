// `cup dev`: pushes an app, then what is saved, until Ctrl-C. Buildpacks keep their layers, so a build whose inputs are the same takes little.
import { watch } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Ignore } from "ignore";
import { followLog } from "../app/log-stream.ts";
import { waitUntilRunning } from "../app/wait-running.ts";
import { stderrColours } from "../colours.ts";
import { printFailure } from "../action.ts";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { withRole } from "../missing-role.ts";
import { printLines, type Result } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { withDev } from "./advice.ts";
import { readManifest, sourceOf } from "./manifest.ts";
import type { PushOptions } from "./options.ts";
import { readIgnore, readSource, type SourceFile } from "./pack-source.ts";
import { pushApp, upload } from "./push.ts";
import { stage } from "./stage.ts";

/** An editor writes several files, or one in several steps. */
const QUIET_MS = 80;

/** Ends at Ctrl-C; the app runs on. @throws Failure when the first push fails, or the folder cannot be watched */
export async function dev(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  try {
    return await pushAndWatch(context, name, options);
  } catch (error) {
    throw withDev(error, options, { isWatching: false });
  }
}

async function pushAndWatch(context: Context, name: string | undefined, options: PushOptions): Promise<Result> {
  const manifest = readManifest(name, options);
  const [entry, another] = manifest.applications;
  if (!entry || another)
    throw new Failure("cup dev is for one app, the manifest has several", { kind: "usage", next: "cup dev APP" });
  const folder = sourceOf(entry, manifest.folder);
  let files = await listFiles(folder);
  const pushed = await pushApp(context, entry, { manifest, start: true });
  printLines(...pushed.text);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  context.progress.step(`Watching ${folder}; Ctrl-C ends, and ${entry.name} runs on`);
  const log = showLog(context, pushed.guid, stop.signal);
  for await (const _change of changesOf(folder, stop.signal)) {
    const now = await listWhileEdited(folder);
    const changed = now ? changedFiles(files, now) : [];
    if (!now || changed.length === 0) continue;
    files = now;
    await pushChange(context, { guid: pushed.guid, name: entry.name }, { files, changed, options });
  }
  await log;
  return {
    json: { app: pushed.guid, urls: pushed.urls },
    text: [
      `${entry.name} runs on. Next: cup stop ${quoteForShell(entry.name)}, or: cup logs ${quoteForShell(entry.name)}`,
    ],
  };
}

/** A change, from upload to running instances. Its failure is told, and the next change tries again. */
async function pushChange(
  context: Context,
  app: { guid: string; name: string },
  { files, changed, options }: { files: SourceFile[]; changed: readonly string[]; options: PushOptions },
): Promise<void> {
  const started = Date.now();
  const [first = "", ...more] = changed;
  context.progress.step(`Changed: ${first}${more.length > 0 ? ` and ${more.length} more` : ""}`);
  try {
    let restarting: Promise<unknown> | undefined;
    const onSet = (): void => {
      restarting = context.api.request("POST", `/v3/apps/${app.guid}/actions/restart`);
      restarting.catch(() => undefined); // told below, after the build's last lines
    };
    await stage(context, app, { ...(await upload(context, app, { files })), onSet });
    await restarting;
    await waitUntilRunning(context, app);
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    printLines(`${stderrColours.green("✓")} ${app.name} runs again after ${seconds} s`);
  } catch (error) {
    const told = withDev(await withRole(context, error), options, { isWatching: true });
    if (!(told instanceof Failure)) throw told;
    printFailure(told);
  }
}

/** Undefined, with a word on stderr, when a file cannot be read just now: editors write files that go again, and links that lead nowhere. */
export async function listWhileEdited(folder: string): Promise<SourceFile[] | undefined> {
  try {
    return await listFiles(folder);
  } catch (error) {
    printFailure(error instanceof Failure ? error : new Failure(String(error), { cause: error }));
    return undefined;
  }
}

async function listFiles(folder: string): Promise<SourceFile[]> {
  const source = await readSource(folder);
  if ("files" in source) return source.files;
  throw new Failure(`${folder} is an archive, which nobody edits`, { kind: "usage", next: "cup dev --path FOLDER" });
}

/** Paths that are new, gone or written since; pure. */
export function changedFiles(before: readonly SourceFile[], now: readonly SourceFile[]): string[] {
  const stampOf = ({ size, mode, mtime }: SourceFile): string => `${size} ${mode} ${mtime.getTime()}`;
  const known = new Map(before.map((file) => [file.path, stampOf(file)]));
  const current = new Set(now.map(({ path }) => path));
  const written = now.filter((file) => known.get(file.path) !== stampOf(file)).map(({ path }) => path);
  return [...written, ...before.map(({ path }) => path).filter((path) => !current.has(path))];
}

/** Yields once it watches, since files may have been saved before, then once for each burst of changes to files that are pushed. @throws Failure when this machine cannot watch so much */
export async function* changesOf(folder: string, signal: AbortSignal): AsyncGenerator<void> {
  const ignored = await readIgnore(folder);
  let isDirty = true;
  let wake: () => void = () => undefined;
  const watching = follow(folder, { signal, ignored }, () => {
    isDirty = true;
    wake();
  });
  watching.catch(() => wake());
  while (!signal.aborted) {
    if (!isDirty) await Promise.race([new Promise<void>((resolve) => (wake = resolve)), watching]);
    while (isDirty && !signal.aborted) {
      isDirty = false;
      await delay(QUIET_MS, undefined, { signal }).catch(() => undefined); // aborted: the loop ends
    }
    if (!signal.aborted) yield;
  }
}

async function follow(
  folder: string,
  { signal, ignored }: { signal: AbortSignal; ignored: Ignore },
  onChange: () => void,
): Promise<void> {
  try {
    for await (const { filename } of watch(folder, { recursive: true, signal }))
      if (filename === null || filename === "" || !ignored.ignores(filename.split("\\").join("/"))) onChange();
  } catch (cause) {
    if (signal.aborted) return;
    throw new Failure(`${folder} cannot be watched: ${cause instanceof Error ? cause.message : String(cause)}`, {
      next: "name folders that are not pushed, such as node_modules, in .cfignore; or push by hand: cup push APP",
      cause,
    });
  }
}

/** The app's own lines, on stdout. */
async function showLog({ api }: Context, guid: string, signal: AbortSignal): Promise<void> {
  const since = BigInt(Date.now()) * 1_000_000n;
  try {
    for await (const { source, message } of followLog(api, guid, { since, signal }))
      if (source.startsWith("APP/")) printLines(message);
  } catch (error) {
    if (!signal.aborted) printFailure(new Failure("the app's log cannot be read any more", { cause: error }));
  }
}
