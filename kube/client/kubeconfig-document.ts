// The parts of a kubeconfig that we use, checked by hand: command line tools read one at every start, and a library of schemas loads slowly. Pure.

export interface ClusterEntry {
  server: string;
  "certificate-authority"?: string;
  "certificate-authority-data"?: string;
  "insecure-skip-tls-verify"?: boolean;
  "tls-server-name"?: string;
}

/** It may have more fields, which `USER_FIELDS` tells. */
export interface UserEntry {
  token?: string;
  tokenFile?: string;
  "client-certificate"?: string;
  "client-certificate-data"?: string;
  "client-key"?: string;
  "client-key-data"?: string;
  as?: string;
}

export interface ContextEntry {
  cluster: string;
  user?: string;
  namespace?: string;
}

interface Named<T> {
  name: string;
  entry: T;
}

export interface KubeconfigDocument {
  currentContext: string | undefined;
  clusters: Named<ClusterEntry>[];
  contexts: Named<ContextEntry>[];
  users: Named<UserEntry>[];
}

type Kind = "text" | "flag";
type Fields = Readonly<Record<string, Kind>>;

const CLUSTER: Readonly<Record<keyof ClusterEntry, Kind>> = {
  server: "text",
  "certificate-authority": "text",
  "certificate-authority-data": "text",
  "insecure-skip-tls-verify": "flag",
  "tls-server-name": "text",
};
const CONTEXT: Readonly<Record<keyof ContextEntry, Kind>> = { cluster: "text", user: "text", namespace: "text" };
const USER: Readonly<Record<keyof UserEntry, Kind>> = {
  token: "text",
  tokenFile: "text",
  "client-certificate": "text",
  "client-certificate-data": "text",
  "client-key": "text",
  "client-key-data": "text",
  as: "text",
};

/** Those of `UserEntry`. */
export const USER_FIELDS: ReadonlySet<string> = new Set(Object.keys(USER));

/** @throws Error that names each wrong field, and quotes no value */
export function readDocument(parsed: unknown): KubeconfigDocument {
  const faults: string[] = [];
  const config = toRecord(parsed, "the file", faults);
  const read = <T extends object>(list: string, key: string, fields: Fields): Named<T>[] =>
    toList(config[list], list, faults).map((one, at) =>
      toNamed<T>(one, { key, fields, where: `${list}.${at}`, faults }),
    );
  checkFields(config, { "current-context": "text" }, "", faults);
  const clusters = read<ClusterEntry>("clusters", "cluster", CLUSTER);
  const contexts = read<ContextEntry>("contexts", "context", CONTEXT);
  const users = read<UserEntry>("users", "user", USER);
  clusters.forEach(({ entry }, at) => {
    if (!URL.canParse(entry.server)) faults.push(`clusters.${at}.cluster.server: it is no URL`);
  });
  contexts.forEach(({ entry }, at) => {
    if (typeof entry.cluster !== "string") faults.push(`contexts.${at}.context.cluster: it is missing`);
  });
  if (faults.length > 0) throw new Error(faults.join("; "));
  return { currentContext: config["current-context"] as string | undefined, clusters, contexts, users };
}

/** Where an entry is, and what it may hold. */
interface Place {
  key: string;
  fields: Fields;
  where: string;
  faults: string[];
}

/** An entry `{name, [key]: {...}}`. A user may be empty. */
function toNamed<T extends object>(one: unknown, { key, fields, where, faults }: Place): Named<T> {
  const named = toRecord(one, where, faults);
  if (typeof named["name"] !== "string") faults.push(`${where}.name: it is no text`);
  const written = toRecord(named[key] ?? {}, `${where}.${key}`, faults);
  checkFields(written, fields, `${where}.${key}.`, faults);
  // Kubernetes takes null for nothing.
  const given = Object.entries(written).filter(([, value]) => value !== null);
  return { name: String(named["name"]), entry: Object.fromEntries(given) as T };
}

function checkFields(record: Record<string, unknown>, fields: Fields, where: string, faults: string[]): void {
  for (const [field, kind] of Object.entries(fields)) {
    const value = record[field] ?? undefined;
    if (value !== undefined && typeof value !== (kind === "text" ? "string" : "boolean"))
      faults.push(`${where}${field}: it is no ${kind === "text" ? "text" : "true or false"}`);
  }
}

function toRecord(value: unknown, where: string, faults: string[]): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  faults.push(`${where}: it has no fields`);
  return {};
}

function toList(value: unknown, where: string, faults: string[]): unknown[] {
  if (Array.isArray(value)) return value;
  if (value !== undefined && value !== null) faults.push(`${where}: it is no list`);
  return [];
}
