// `cup import`: the objects of an export on another cluster, with their GUIDs. All are made first, and controllers reconcile them after that.
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { KubeError } from "../../kube/client/errors.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { loadAccess, requireAnswer } from "../doctor/doctor-cluster.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { toFailure } from "../policy/cluster.ts";
import {
  parseExportedObject,
  readHeader,
  readRecords,
  type ArchiveHeader,
  type ArchiveRecord,
  type ExportedObject,
} from "./archive.ts";
import { awaitNamespace, importObject, releaseObject, type ImportTarget, type Outcome } from "./import-object.ts";
import { requireImportable } from "./plan-draft.ts";
import { loadDecryptor, type Decryptor } from "./secret-key.ts";

export interface ImportOptions {
  kubeconfig?: string;
  context?: string;
  /** A file with the private key of the export's Secrets. */
  key?: string;
  /** False for an import without Secrets. */
  secrets: boolean;
  dryRun?: boolean;
}

/** Objects that are written at the same time. */
const WRITERS = 16;
const TELL_MS = 2_000;

interface Entry {
  object: ExportedObject;
  ownNamespace: string | undefined;
}

/** @throws Failure */
export async function importPlatform(progress: Progress, path: string, options: ImportOptions): Promise<Result> {
  const header = await readHeader(path);
  const archive: Archive = { path, decryptor: await loadKey(header, options) };
  progress.step(`Checking ${path}, exported ${header.exportedAt} by ${header.version}`);
  const kinds = await check(archive);
  if (options.dryRun) return presentCheck(path, kinds);
  const access = await loadAccess(options);
  const kube = createClient({ ...access, userAgent: `cup/${cupolaVersion()}`, fieldManager: "cup" });
  try {
    await requireAnswer(kube, access.context);
    return await restore(kube, archive, { progress, total: sumOf(kinds) });
  } catch (error) {
    throw error instanceof KubeError ? toFailure(error, kube.server) : error;
  } finally {
    await kube.close();
  }
}

interface Archive {
  path: string;
  /** Undefined when Secrets are left out. */
  decryptor: Decryptor | undefined;
}

async function loadKey({ secrets }: ArchiveHeader, options: ImportOptions): Promise<Decryptor | undefined> {
  if (secrets === "left out" || !options.secrets) return undefined;
  if (options.key !== undefined) return loadDecryptor(options.key);
  throw new Failure("the export has encrypted Secrets, and no key is given", {
    kind: "usage",
    next: "cup import FILE --key backup.key; --no-secrets imports the rest",
  });
}

async function* readEntries({ path, decryptor }: Archive): AsyncGenerator<Entry> {
  for await (const record of readRecords(path)) {
    const entry = await toEntry(path, record, decryptor);
    if (entry) yield entry;
  }
}

async function toEntry(
  path: string,
  record: ArchiveRecord,
  decryptor: Decryptor | undefined,
): Promise<Entry | undefined> {
  if ("object" in record) return { object: record.object, ownNamespace: record.ownNamespace };
  if (!decryptor) return undefined;
  return { object: parseExportedObject(path, await decryptor.decrypt(record.encrypted)), ownNamespace: undefined };
}

/** Reads the whole file before anything is written. Returns numbers by kind. @throws Failure */
async function check(archive: Archive): Promise<Record<string, number>> {
  const kinds: Record<string, number> = {};
  for await (const { object } of readEntries(archive)) {
    requireImportable(object);
    kinds[object.kind] = (kinds[object.kind] ?? 0) + 1;
  }
  return kinds;
}

async function restore(
  kube: KubeClient,
  archive: Archive,
  { progress, total }: { progress: Progress; total: number },
): Promise<Result> {
  const outcomes: Record<Outcome, number> = { created: 0, "taken over": 0, "there already": 0, "left out": 0 };
  const tell = createTeller(progress, total);
  const count = (outcome: Outcome): void => void (outcomes[outcome] += 1);
  const target: ImportTarget = { kube, namespaces: new Map(), orgs: new Set(), count };
  progress.step(`Importing ${total} objects into ${kube.server}`);
  await forEachInOrder(readEntries(archive), async ({ object, ownNamespace }) => {
    await importObject(target, object);
    await awaitNamespace(target, object, ownNamespace);
    tell();
  });
  progress.step("Handing them over to the controllers");
  await forEachInOrder(readEntries(archive), ({ object }) => releaseObject(target, object));
  return present(archive.path, outcomes);
}

/** Objects of one kind at the same time, and kinds one after the other. @throws the first error, when all that began have ended */
async function forEachInOrder(entries: AsyncIterable<Entry>, act: (entry: Entry) => Promise<void>): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let kind = "";
  for await (const entry of entries) {
    if (entry.object.kind !== kind) await Promise.all(running);
    kind = entry.object.kind;
    while (running.size >= WRITERS) await Promise.race(running);
    if (failures.length > 0) break;
    const one: Promise<void> = act(entry)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

function createTeller(progress: Progress, total: number): () => void {
  let done = 0;
  let told = Date.now();
  return () => {
    done += 1;
    if (Date.now() - told < TELL_MS) return;
    told = Date.now();
    progress.line(`${done} of ${total}`);
  };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

/** Pure. */
function present(path: string, outcomes: Record<Outcome, number>): Result {
  return {
    json: {
      file: path,
      created: outcomes.created,
      takenOver: outcomes["taken over"],
      thereAlready: outcomes["there already"],
      leftOut: outcomes["left out"],
    },
    text: [
      ...Object.entries(outcomes).flatMap(([outcome, number]) => (number > 0 ? [`${number} ${outcome}`] : [])),
      "Started apps start now. Next: cup doctor --cluster",
    ],
  };
}

/** Pure. */
function presentCheck(path: string, kinds: Readonly<Record<string, number>>): Result {
  return {
    json: { file: path, objects: sumOf(kinds), kinds },
    text: [
      ...Object.entries(kinds).map(([kind, number]) => `${kind}: ${number}`),
      `${path} can be imported: ${sumOf(kinds)} objects. Nothing was written.`,
    ],
  };
}
