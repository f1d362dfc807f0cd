// The cgroups under which a node's pods run: one in each hierarchy of cgroup v1.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

/** Makes `name` in every hierarchy but that of version 2, which runc makes where it needs it. */
export function makeCgroups(name: string): void {
  for (const hierarchy of readdirSync(ROOT).filter((entry) => entry !== "unified")) {
    mkdirSync(join(ROOT, hierarchy, name), { recursive: true });
    if (hierarchy === "cpuset") inheritCpus(name);
  }
}

/** A new cpuset has no processor and no memory until somebody gives it some. */
function inheritCpus(name: string): void {
  for (const file of ["cpuset.cpus", "cpuset.mems"])
    writeFileSync(join(ROOT, "cpuset", name, file), readFileSync(join(ROOT, "cpuset", file)));
}

/** Cgroups whose name begins with `prefix`. */
export function listCgroups(prefix: string): string[] {
  if (!existsSync(ROOT)) return [];
  return readdirSync(ROOT).flatMap((hierarchy) =>
    readdirSync(join(ROOT, hierarchy))
      .filter((name) => name.startsWith(prefix))
      .map((name) => join(ROOT, hierarchy, name)),
  );
}
