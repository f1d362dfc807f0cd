// Forbidden leftovers of a killed platform: objects whose owner is gone, claims that nobody bears, processes of no instance.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import type { TestPlatform } from "../support/test-platform.ts";

export interface LiveObject {
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    labels?: Record<string, string>;
    deletionTimestamp?: string;
    ownerReferences?: { kind: string; uid: string; name: string }[];
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const KINDS = DEFINITIONS.map(({ plural, group }) => `${plural}.${group}`);
const KIND_NAMES = new Set<string>(DEFINITIONS.map(({ kind }) => kind));

/** All objects of the stage that the platform made or keeps. */
export async function readObjects(testPlatform: TestPlatform): Promise<LiveObject[]> {
  const { code, output } = await testPlatform.kubectl("get", [...KINDS, "secrets"].join(","), "-A", "-o", "json");
  if (code !== 0) throw new Error(`kubectl get: ${output}`);
  return (JSON.parse(output) as { items: LiveObject[] }).items;
}

/** Objects that outlived what they belong to, as lines to read. */
export function findOrphans(objects: readonly LiveObject[]): string[] {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const guids = new Map(objects.filter(({ kind }) => kind === "App").map((app) => [guidOf(app), app]));
  const routes = new Set(objects.filter(({ kind }) => kind === "Route").map(guidOf));
  return objects.flatMap((object) => {
    const { labels = {}, ownerReferences = [], deletionTimestamp } = object.metadata;
    const app = labels["cupola.dev/app-guid"];
    const route = object.kind === "RouteBinding" ? labels["cupola.dev/route-guid"] : undefined;
    return [
      ...(deletionTimestamp ? ["is being deleted since " + deletionTimestamp] : []),
      ...(app && !guids.has(app) ? [`has no app ${app}`] : []),
      ...(route && !routes.has(route) ? [`has no route ${route}`] : []),
      ...ownerReferences
        .filter(({ kind, uid }) => KIND_NAMES.has(kind) && !uids.has(uid))
        .map(({ kind, name }) => `has no owner ${kind} ${name}`),
    ].map((what) => `${nameOf(object)} ${what}`);
  });
}

/** Claims whose claimant is gone. Whether one that is there bears the name is for the caller. */
export function findStrayClaims(objects: readonly LiveObject[]): string[] {
  const claimed = (object: LiveObject): string =>
    JSON.stringify([object.kind, object.metadata.namespace ?? "", object.metadata.name]);
  const present = new Map(objects.map((object) => [claimed(object), object]));
  return objects
    .filter(({ kind }) => kind === "Claim")
    .flatMap((claim) => {
      const { claimant, claimed: name } = claim.spec as {
        claimant: { kind: string; namespace?: string; name: string };
        claimed: string;
      };
      const holder = present.get(JSON.stringify([claimant.kind, claimant.namespace ?? "", claimant.name]));
      if (!holder) return [`claim of ${claimant.kind} ${name} has no claimant ${claimant.name}`];
      return holdsName(holder, name)
        ? []
        : [`${claimant.kind} ${claimant.name} does not bear the claimed name ${name}`];
    });
}

function holdsName({ kind, metadata, spec = {} }: LiveObject, name: string): boolean {
  const host =
    kind === "Route"
      ? `${String(spec["host"] ?? "")}:${String(spec["port"] ?? 0)}${String(spec["path"] ?? "")}`
      : String(spec["name"] ?? metadata.name);
  return host.toLowerCase() === name;
}

/** A process that has to do with this stage's home, by its arguments, directory or environment. */
export interface PlatformProcess {
  pid: number;
  command: string;
  /** CF_INSTANCE_GUID, when it is an app's. */
  instance: string | undefined;
}

/** Linux only; elsewhere none. */
export function listProcessesUnder(home: string): PlatformProcess[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const command = text(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
      const environment = text(`/proc/${pid}/environ`).split("\0");
      const at = directory(pid);
      const isRelative =
        command.includes(home) ||
        at.startsWith(home) ||
        environment.some((entry) => entry.includes(home) && !/^(CUPOLA_HOME|CUP_HOME|CF_HOME|KUBECONFIG)=/.test(entry));
      if (!isRelative || command === "") return [];
      return [
        {
          pid: Number(pid),
          command,
          instance: environment
            .find((entry) => entry.startsWith("CF_INSTANCE_GUID="))
            ?.slice("CF_INSTANCE_GUID=".length),
        },
      ];
    });
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // processes end while we look
  }
}

function directory(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

/** Processes that are neither the platform nor an instance that an LRP's status names, and instances without a process. */
export function findStrayProcesses(testPlatform: TestPlatform, objects: readonly LiveObject[]): string[] {
  const wanted = new Set(
    objects
      .filter(({ kind }) => kind === "LRP")
      .flatMap(({ status = {} }) =>
        ((status["instances"] ?? []) as { guid?: string }[]).flatMap(({ guid }) => guid ?? []),
      ),
  );
  const found = listProcessesUnder(testPlatform.home).filter(({ pid }) => !testPlatform.pids().includes(pid));
  const strays = found
    .filter(({ instance }) => instance === undefined || !wanted.has(instance))
    .map(({ pid, command }) => `process ${pid} (${command.slice(0, 200)}) belongs to no instance`);
  const missing =
    process.platform === "linux"
      ? [...wanted]
          .filter((guid) => !found.some(({ instance }) => instance === guid))
          .map((guid) => `instance ${guid} has no process`)
      : [];
  return [...strays, ...missing];
}

function guidOf({ metadata }: LiveObject): string {
  return metadata.labels?.["cupola.dev/guid"] ?? metadata.uid;
}

function nameOf({ kind, metadata }: LiveObject): string {
  return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}
