// Sidecars: programs that run beside the instances of an app's processes, in the process's own memory. Schema and pure rules.
import { z } from "zod";
import { listMap, listSet } from "../kube/api/resource.ts";
import { digest5, MAX_SLUG, slug } from "./object-names.ts";
import { memoryMB } from "./schema-fields.ts";

/** Sidecars per app, from users and buildpacks each. */
export const MAX_SIDECARS = 20;

const program = z.object({
  name: z.string().min(1).max(255).describe("Name of the sidecar."),
  command: z.string().min(1).max(4096).describe("The command it runs."),
  memoryMB: memoryMB.optional().describe("Its share of the process's memory, in MB."),
});

/** A sidecar of an app, and the process types that it runs beside. */
export const sidecar = program.extend({
  processTypes: listSet(z.array(z.string().min(1).max(255)).min(1).max(50)).describe(
    "Process types that it runs beside.",
  ),
});
export type Sidecar = z.output<typeof sidecar>;

/** The sidecars of an app, or of its droplet. */
export const sidecars = listMap(z.array(sidecar).max(MAX_SIDECARS), ["name"]);

/** The sidecars of one process. */
export const processSidecars = listMap(z.array(program).max(2 * MAX_SIDECARS), ["name"]);
export type ProcessSidecar = z.output<typeof program>;

/** A user's sidecars, and those of the droplet's buildpacks; of two with one name the user's is kept. Sorted by name. */
export function mergeSidecars(
  ofUser: readonly Sidecar[] | undefined = [],
  ofBuildpacks: readonly Sidecar[] | undefined = [],
): Sidecar[] {
  const names = new Set(ofUser.map(({ name }) => name));
  const all = [...ofUser, ...ofBuildpacks.filter(({ name }) => !names.has(name))];
  return all
    .map(({ name, command, processTypes, memoryMB }) => ({
      name,
      command,
      processTypes: [...processTypes],
      ...(memoryMB !== undefined && { memoryMB }),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Those that run beside a process type. */
export function sidecarsOfType(all: readonly Sidecar[] | undefined, type: string): ProcessSidecar[] {
  return (all ?? [])
    .filter(({ processTypes }) => processTypes.includes(type))
    .map(({ processTypes: _types, ...own }) => own);
}

/** The type under which a sidecar appears in logs and problems: `APP/PROC/WEB/SIDECAR/PROXY`. */
export function sidecarOutputType(processType: string, name: string): string {
  return `${processType}/sidecar/${name}`;
}

/** The name of a sidecar's container: its own where that is a DNS label. */
export function sidecarContainerName(name: string): string {
  const plain = slug(name);
  const isFree = plain === name && plain.length <= MAX_SLUG && plain !== "application";
  return isFree ? plain : `${plain.slice(0, MAX_SLUG - 6).replace(/-+$/, "") || "sidecar"}-${digest5(name)}`;
}

/** The memory that sidecars take of their process's, in MB. */
export function sidecarMemoryMB(all: readonly Pick<Sidecar, "memoryMB">[] | undefined): number {
  return (all ?? []).reduce((sum, { memoryMB: own = 0 }) => sum + own, 0);
}

/** The memory that is left for a process's own program; at least 1 MB. */
export function mainMemoryMB(process: {
  memoryMB: number;
  sidecars?: readonly Pick<Sidecar, "memoryMB">[] | undefined;
}): number {
  return Math.max(1, process.memoryMB - sidecarMemoryMB(process.sidecars));
}
