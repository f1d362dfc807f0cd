// Apps of a home that was moved: their droplets have absolute paths of the old place in them, so they must be built again.
import { dirname, resolve } from "node:path";
import type { LRP } from "../crds/lrp/lrp.ts";

export interface DisplacedApp {
  app: string;
  space: string;
  org: string;
  /** Folder of the home where it was built. */
  builtIn: string;
}

/** Apps that should run and cannot, once each, in the order of their names. Pure. */
export function findDisplacedApps(lrps: readonly Pick<LRP, "spec">[], droplets: string): DisplacedApp[] {
  const found = new Map<string, DisplacedApp>();
  for (const { spec } of lrps) {
    const { root, kind } = spec.droplet;
    if (kind !== "host" || root === undefined || dirname(root) === resolve(droplets)) continue;
    // <home>/data/droplets/<root>
    const builtIn = dirname(dirname(dirname(root)));
    found.set(spec.app.guid, { app: spec.app.name, space: spec.space.name, org: spec.org.name, builtIn });
  }
  return [...found.values()].sort((one, other) => (one.app < other.app ? -1 : 1));
}

/** Lines that a start prints about them; none without any. Pure. */
export function describeDisplacedApps(apps: readonly DisplacedApp[]): string[] {
  const [first] = apps;
  if (!first) return [];
  return [
    `${apps.length === 1 ? "1 app was" : `${apps.length} apps were`} built when this home was at ${first.builtIn}, and cannot run here until built again:`,
    ...apps.map(({ app, space, org }) => `  cup target -o ${org} -s ${space} && cup restage ${app}`),
  ];
}
