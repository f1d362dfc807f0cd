// A node of a cluster: its namespaces, its settings and the programs that run in it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeCgroups } from "./cgroups.ts";
import { cleanUpCommand, Namespaces, type NodeProcess } from "./namespaces.ts";
import { workerCommand, type NodePart, type WorkerPart } from "./parts.ts";
import type { NodePrograms } from "./requirements.ts";
import type { NodeSettings } from "./settings.ts";

export type NodeName = "node1" | "node2";

/** State that the nodes of a cluster share. */
export interface ClusterPlace {
  /** The cluster's folder. */
  dir: string;
  /** With it the names of the nodes' cgroups begin. */
  cgroups: string;
  programs: NodePrograms;
}

export class Member {
  readonly name: NodeName;
  readonly namespaces: Namespaces;
  readonly #place: ClusterPlace;
  readonly #running = new Map<NodePart, { command: readonly string[]; process: NodeProcess }>();

  private constructor(name: NodeName, namespaces: Namespaces, place: ClusterPlace) {
    this.name = name;
    this.namespaces = namespaces;
    this.#place = place;
  }

  /** Makes its cgroups and namespaces; no program runs yet. */
  static async start(name: NodeName, place: ClusterPlace): Promise<Member> {
    const dir = join(place.dir, name);
    const onOrphan = cleanUpCommand(place.dir, place.cgroups)
      .map((word) => `'${word}'`)
      .join(" ");
    makeCgroups(place.cgroups + name);
    mkdirSync(dir);
    const env = environment(dir, place.programs.packages);
    return new Member(name, await Namespaces.start({ name, dir, env, onOrphan }), place);
  }

  /** Settings for its configuration files, once its address is known. */
  settings(address: NodeSettings["address"], registry: string): NodeSettings {
    const { dir, cgroups, programs } = this.#place;
    const { name } = this;
    return { name, dir: join(dir, name), address, packages: programs.packages, registry, cgroup: cgroups + name };
  }

  /** Starts a program, or starts it again. */
  run(part: NodePart, command: readonly string[]): void {
    this.#running.set(part, { command, process: this.namespaces.start(part, command) });
  }

  runWorker(part: WorkerPart, settings: NodeSettings): void {
    this.run(part, workerCommand(part, settings, this.#place.programs.binaries));
  }

  /** Throws when it never ran here. */
  find(part: NodePart): { command: readonly string[]; process: NodeProcess } {
    const program = this.#running.get(part);
    if (!program) throw new Error(`${this.name} has no ${part}`);
    return program;
  }

  processes(): NodeProcess[] {
    return [...this.#running.values()].map(({ process }) => process);
  }
}

/** The packages' programs come first; what they write outside their folders stays in the node's. */
function environment(dir: string, packages: string): NodeJS.ProcessEnv {
  const folders = ["usr/sbin", "usr/bin", "sbin", "bin"].map((folder) => join(packages, folder));
  const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
  const libraries = ["usr/lib", "lib"].map((folder) => join(packages, folder, `${architecture}-linux-gnu`));
  return {
    PATH: [...folders, process.env["PATH"]].join(":"),
    LD_LIBRARY_PATH: libraries.join(":"),
    TMPDIR: join(dir, "tmp"),
    HOME: join(dir, "tmp"),
  };
}
