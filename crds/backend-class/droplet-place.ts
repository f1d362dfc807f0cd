// Where droplets that are files go: into a folder of a machine, or onto a run image. Pure.
import type { BackendClass } from "./backend-class.ts";

/** On what an uploaded droplet is put, and how it starts. */
export interface DropletBase {
  runImage: string;
  /** Has the launcher. */
  builderImage: string;
  /** A version of the Platform API that this launcher speaks. */
  platformAPI: string;
}

/** Owner of the files of such a droplet. */
export interface DropletOwner {
  uid: number;
  gid: number;
}

/** The folder in which droplets of a builder class have their roots. */
export function findDropletFolder(classes: readonly BackendClass[]): string | undefined {
  return classes.map(({ status }) => status?.capabilities?.["dropletFolder"]).find((found) => found !== undefined);
}

/** The images with which a builder class makes images of droplets, and the owner of their files. */
export function findDropletBase(
  classes: readonly BackendClass[],
): { base: DropletBase; owner: DropletOwner } | undefined {
  return classes.map(({ status }) => toBase(status?.capabilities ?? {})).find((found) => found !== undefined);
}

function toBase(capabilities: Readonly<Record<string, string>>): ReturnType<typeof findDropletBase> {
  const { dropletRunImage: runImage, dropletBuilderImage: builderImage, dropletUser = "", platformAPI } = capabilities;
  const [, uid, gid] = /^(\d{1,9}):(\d{1,9})$/.exec(dropletUser) ?? [];
  if (runImage === undefined || builderImage === undefined || platformAPI === undefined || uid === undefined)
    return undefined;
  return { base: { runImage, builderImage, platformAPI }, owner: { uid: Number(uid), gid: Number(gid) } };
}

/** The capabilities that `findDropletBase` reads. */
export function toDropletCapabilities(
  { runImage, builderImage }: Pick<DropletBase, "builderImage"> & { runImage: string | undefined },
  { uid, gid }: DropletOwner,
): Record<string, string> {
  if (runImage === undefined) return {};
  return { dropletRunImage: runImage, dropletBuilderImage: builderImage, dropletUser: `${uid}:${gid}` };
}
