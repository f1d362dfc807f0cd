// `cup export`: the objects of a platform, or of one org, in one file, with their GUIDs, for another cluster.
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Org } from "../../crds/org/org.ts";
import { SPACE_CREDENTIALS_SECRETS, SYSTEM_CREDENTIALS_SECRETS } from "../../crds/service-broker/credentials.ts";
import { Space } from "../../crds/space/space.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { isGone } from "../../kube/client/errors.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { loadAccess, requireAnswer } from "../doctor/doctor-cluster.ts";
import { Failure } from "../failure.ts";
import type { Progress, Result } from "../output.ts";
import { FORMAT, writeArchive, type ArchiveRecord } from "./archive.ts";
import { chooseOrg, type OrgPlace } from "./choose-org.ts";
import { EXPORTED_KINDS, HISTORY_KINDS, IN_SYSTEM_NAMESPACE, listLeftOutKinds } from "../../crds/exported-kinds.ts";
import { exportObject } from "./export-object.ts";
import { loadEncryptor, type Encryptor } from "./secret-key.ts";

export interface ExportOptions {
  kubeconfig?: string;
  context?: string;
  output?: string;
  /** CF name of the only org. */
  org?: string;
  /** A file with a public key. */
  key?: string;
  /** False for an export without Secrets. */
  secrets: boolean;
  /** Audit events, too. */
  history?: boolean;
}

/** An object may have 1.5 MiB, and a page is in memory at once. */
const PAGE = { limit: 100, deadlineMs: 60_000 } as const;

interface Counts {
  exported: Record<string, number>;
  leftOut: Record<string, number>;
}

/** Namespaces whose objects are exported, by those of orgs and spaces. */
interface Place {
  namespaces: ReadonlySet<string>;
  /** The object name of the only org. */
  org: string | undefined;
}

/** @throws Failure */
export async function exportPlatform(progress: Progress, options: ExportOptions): Promise<Result> {
  const encryptor = await loadKey(options);
  const access = await loadAccess(options);
  const kube = createClient({ ...access, userAgent: `cup/${cupolaVersion()}`, fieldManager: "cup" });
  try {
    await requireAnswer(kube, access.context);
    progress.step(`Exporting ${access.context} (${kube.server})`);
    const exportedAt = new Date().toISOString();
    const output = options.output ?? `cupola-export-${exportedAt.slice(0, 19).replaceAll(":", "")}Z.jsonl.gz`;
    const counts: Counts = { exported: {}, leftOut: {} };
    const place = await readPlace(kube, options.org);
    const hasHistory = options.history === true;
    const kinds = [...EXPORTED_KINDS, ...(hasHistory ? HISTORY_KINDS : [])];
    const head = {
      format: FORMAT,
      version: cupolaVersion(),
      exportedAt,
      ...(options.org !== undefined && { org: options.org }),
      secrets: encryptor ? "encrypted" : "left out",
    } as const;
    await writeArchive(output, head, readAll(kube, kinds, { place, encryptor, counts, progress }));
    return present(output, counts, { hasSecrets: encryptor !== undefined, hasHistory });
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new Failure("a list changed for so long that Kubernetes gave it up", { next: "export again", cause: error });
  } finally {
    await kube.close();
  }
}

async function loadKey({ key, secrets }: ExportOptions): Promise<Encryptor | undefined> {
  if (!secrets) return undefined;
  if (key !== undefined) return loadEncryptor(key);
  throw new Failure("Secrets are exported encrypted, and no key is given", {
    kind: "usage",
    next: "cup export --key backup.pub; openssl genpkey -algorithm X25519 makes a key; --no-secrets leaves Secrets out",
  });
}

async function readPlace(kube: KubeClient, name: string | undefined): Promise<Place> {
  const all = await readOrgs(kube);
  const only = name === undefined ? undefined : chooseOrg(all, name);
  const orgs = only ? [only] : all;
  const ofOrgs = new Set(orgs.flatMap(({ namespace }) => namespace ?? []));
  const namespaces = new Set([...ofOrgs, ...(await readSpaces(kube, ofOrgs))]);
  return { namespaces, org: only?.name };
}

/** Namespaces of the spaces in these namespaces of orgs, but for spaces that are being deleted. */
async function readSpaces(kube: KubeClient, ofOrgs: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const { items } of kube.pages(Space, PAGE))
    for (const { metadata, status } of items)
      if (status?.namespace && !metadata.deletionTimestamp && ofOrgs.has(metadata.namespace ?? ""))
        found.push(status.namespace);
  return found;
}

/** All orgs, but for those that are being deleted. */
async function readOrgs(kube: KubeClient): Promise<OrgPlace[]> {
  const found: OrgPlace[] = [];
  for await (const { items } of kube.pages(Org, PAGE))
    for (const { metadata, spec, status } of items)
      if (!metadata.deletionTimestamp)
        found.push({
          name: metadata.name,
          namespace: status?.namespace,
          asked: spec.name ?? metadata.name,
          held: status?.name,
        });
  return found;
}

interface Reading {
  place: Place;
  encryptor: Encryptor | undefined;
  counts: Counts;
  progress: Progress;
}

async function* readAll(
  kube: KubeClient,
  kinds: readonly ResourceRef[],
  reading: Reading,
): AsyncGenerator<ArchiveRecord> {
  for (const ref of kinds) {
    if (ref.kind === Secret.kind && !reading.encryptor) continue;
    yield* readKind(kube, ref, reading);
    const count = reading.counts.exported[ref.kind];
    if (count !== undefined) reading.progress.line(`${ref.plural}: ${count}`);
  }
}

async function* readKind(kube: KubeClient, ref: ResourceRef, reading: Reading): AsyncGenerator<ArchiveRecord> {
  for await (const { items } of kube.pages(ref, PAGE))
    for (const item of items) {
      const record = isWanted(item, reading.place) ? await toRecord(item, reading) : undefined;
      if (record) yield record;
    }
}

async function toRecord(item: KubeObject, { counts, encryptor, place }: Reading): Promise<ArchiveRecord | undefined> {
  const { kind } = item;
  const found = exportObject(withKeysOf(item, place));
  if ("leftOut" in found) {
    // Most Secrets are generated, or of others.
    if (kind !== Secret.kind) count(counts.leftOut, `${kind}: ${found.leftOut}`);
    return undefined;
  }
  count(counts.exported, kind);
  if (encryptor && kind === Secret.kind) return { encrypted: await encryptor.encrypt(found.object) };
  const own = kind === Org.kind || kind === Space.kind ? (item as Org | Space).status?.namespace : undefined;
  return { object: found.object, ...(own !== undefined && { ownNamespace: own }) } as ArchiveRecord;
}

function isWanted({ kind, metadata: { name, namespace } }: KubeObject, { namespaces, org }: Place): boolean {
  if (kind === Org.kind) return org === undefined || name === org;
  if (namespace !== SYSTEM_NAMESPACE) return namespaces.has(namespace ?? "");
  if (kind === Secret.kind)
    return org === undefined ? SYSTEM_CREDENTIALS_SECRETS.includes(name) : SPACE_CREDENTIALS_SECRETS.includes(name);
  return org === undefined && IN_SYSTEM_NAMESPACE.has(kind);
}

/** Keeps only the exported spaces' keys of a Secret with the credentials of several spaces' brokers. */
function withKeysOf(item: KubeObject, { namespaces }: Place): KubeObject {
  if (item.kind !== Secret.kind || !SPACE_CREDENTIALS_SECRETS.includes(item.metadata.name)) return item;
  const entries = Object.entries((item["data"] ?? {}) as Record<string, string>);
  return { ...item, data: Object.fromEntries(entries.filter(([key]) => namespaces.has(key.split(".")[0] ?? ""))) };
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

/** Pure. */
function present(
  output: string,
  { exported, leftOut }: Counts,
  { hasSecrets, hasHistory }: { hasSecrets: boolean; hasHistory: boolean },
): Result {
  const leftOutKinds = listLeftOutKinds(hasHistory);
  const total = Object.values(exported).reduce((sum, one) => sum + one, 0);
  return {
    json: { output, objects: total, exported, leftOut, leftOutKinds, secrets: hasSecrets },
    text: [
      `${output}: ${total} objects${hasSecrets ? ", Secrets encrypted" : ", without Secrets"}`,
      ...Object.entries(leftOut).map(([reason, number]) => `left out: ${number} × ${reason}`),
      "Copy the registry, or the folder of blobs, too. Next: cup import FILE",
    ],
  };
}
