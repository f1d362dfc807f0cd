// `cup support-bundle`: what a person who helps needs to see of a platform, in one file without secrets.
import { open, type FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import { createClient } from "../../kube/client/create-client.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { loadAccess, lookAt, requireAnswer } from "../doctor/doctor-cluster.ts";
import { Failure } from "../failure.ts";
import { bytes, type Progress, type Result } from "../output.ts";
import { newAnonymizer, type Anonymizer } from "./anonymous.ts";
import type { BundleFile } from "./bundle-file.ts";
import { collect, toText } from "./collect.ts";
import { scrubText } from "./scrub-text.ts";

export interface BundleOptions {
  kubeconfig?: string;
  context?: string;
  /** The file to write. */
  output?: string;
  app?: string;
  /** In seconds. */
  since?: number;
  dryRun?: boolean;
  anonymous?: boolean;
}

const DEADLINE_MS = 600_000;
const DEFAULT_SINCE_SECONDS = 86_400;
/** Size of all files before they are compressed. */
const MAX_BYTES = 100 * 2 ** 20;

interface Written {
  path: string;
  bytes: number;
}

/** @throws Failure when Kubernetes does not answer, or the file cannot be written */
export async function supportBundle(progress: Progress, options: BundleOptions): Promise<Result> {
  const access = await loadAccess(options);
  const kube = createClient({ ...access, userAgent: `cup/${cupolaVersion()}`, fieldManager: "cup" });
  try {
    await requireAnswer(kube, access.context);
    progress.step(`Reading ${access.context} (${kube.server})`);
    const files = hideNames(collectAll(kube, options), options.anonymous ? newAnonymizer() : undefined);
    const name = `cupola-support-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}Z`;
    const output = options.output ?? `${name}.tar.gz`;
    const written = options.dryRun ? await listFiles(files) : await writeFiles(files, { output, name, progress });
    return present(written, options.dryRun ? undefined : output);
  } finally {
    await kube.close();
  }
}

async function* collectAll(kube: KubeClient, { app, since }: BundleOptions): AsyncGenerator<BundleFile> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const { json } = await lookAt(kube, { isBeforeInstallation: false, probe: false });
  yield { path: "doctor.json", text: toText(scrubTexts(json)) };
  yield* collect(kube, { sinceSeconds: since ?? DEFAULT_SINCE_SECONDS, signal, ...(app !== undefined && { app }) });
}

/** Findings quote conditions and errors, which may quote anything. */
function scrubTexts(value: unknown): unknown {
  if (typeof value === "string") return scrubText(value);
  if (Array.isArray(value)) return value.map(scrubTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, scrubTexts(member)]));
}

/** Names are known only when all files are read, so these are held meanwhile; MAX_BYTES bounds them. */
async function* hideNames(
  files: AsyncIterable<BundleFile>,
  anonymizer: Anonymizer | undefined,
): AsyncGenerator<BundleFile> {
  if (!anonymizer) return yield* bound(files);
  const held: BundleFile[] = [];
  for await (const file of bound(files)) {
    anonymizer.learn(file.text);
    held.push(file);
  }
  for (const { path, text } of held) yield { path: anonymizer.hide(path), text: anonymizer.hide(text) };
}

/** Leaves out each file that MAX_BYTES has no room for, and names those at the end. */
async function* bound(files: AsyncIterable<BundleFile>): AsyncGenerator<BundleFile> {
  let total = 0;
  const leftOut: string[] = [];
  for await (const file of files) {
    const size = Buffer.byteLength(file.text);
    if (total + size > MAX_BYTES) {
      leftOut.push(file.path);
      continue;
    }
    total += size;
    yield file;
  }
  if (leftOut.length > 0)
    yield { path: "too-large.txt", text: `Left out: ${leftOut.join(", ")}. Use --app or --since.\n` };
}

async function listFiles(files: AsyncIterable<BundleFile>): Promise<Written[]> {
  const listed: Written[] = [];
  for await (const { path, text } of files) listed.push({ path, bytes: Buffer.byteLength(text) });
  return listed;
}

async function writeFiles(
  files: AsyncIterable<BundleFile>,
  { output, name, progress }: { output: string; name: string; progress: Progress },
): Promise<Written[]> {
  const tar = pack();
  const written: Written[] = [];
  const fill = async (): Promise<void> => {
    for await (const { path, text } of files) {
      progress.line(path);
      tar.entry({ name: `${name}/${path}`, mode: 0o600 }, text);
      written.push({ path, bytes: Buffer.byteLength(text) });
    }
    tar.finalize();
  };
  const file = await openNew(output);
  await Promise.all([
    pipeline(tar, createGzip(), file.createWriteStream()),
    fill().catch((error: unknown) => tar.destroy(error as Error)),
  ]);
  return written;
}

/** This person alone may read it, and no file is overwritten. @throws Failure before anything is read */
async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (cause) {
    throw new Failure(`${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`, {
      next: "cup support-bundle --output FILE",
      cause,
    });
  }
}

/** Pure. */
function present(files: readonly Written[], output: string | undefined): Result {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const summary = `${files.length} files, ${bytes(total)} before compression`;
  return {
    json: { output: output ?? null, bytes: total, files },
    text:
      output === undefined
        ? [
            ...files.map(({ path, bytes: size }) => `${bytes(size).padStart(6)}  ${path}`),
            "",
            `${summary}. Nothing was written.`,
          ]
        : [
            `${output}: ${summary}. Look through it before you send it; secrets are left out, names are not (--anonymous).`,
          ],
  };
}
