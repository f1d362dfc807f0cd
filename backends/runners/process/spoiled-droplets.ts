// Droplets that an instance has filled, where instances share a droplet's files: the next start would crash for its disk, too. It unpacks them anew.
import { access } from "node:fs/promises";
import { LRUCache } from "lru-cache";
import type { ExitProblem } from "../../../crds/lrp/instance-problem.ts";
import type { InstanceFiles } from "./instance-record.ts";

/** The part of a launcher that puts droplets at their roots. */
interface Unpacker<Droplet extends { root: string }> {
  restore(droplet: Droplet): Promise<void>;
  discard(root: string): Promise<void>;
}

export interface SpoiledDroplets {
  /** Notes the end of a program. Only one for its disk counts, and only of a program without files of its own. */
  noteEnd(problem: ExitProblem, root: string, files: Pick<InstanceFiles, "changes">): Promise<void>;
  /** Before a start: puts the droplet at its root. A spoiled one is unpacked anew, unless a program still runs there. */
  restore<Droplet extends { root: string }>(unpacker: Unpacker<Droplet>, droplet: Droplet): Promise<void>;
}

/** Droplets whose app is never started again stay noted. */
const MAX_KEPT = 1000;

/** @param isInUse whether a program runs from this root */
export function trackSpoiledDroplets(isInUse: (root: string) => boolean): SpoiledDroplets {
  const spoiled = new LRUCache<string, true>({ max: MAX_KEPT });
  const discarding = new Map<string, Promise<void>>();
  return {
    async noteEnd({ kind }, root, { changes }) {
      if (kind === "diskFull" && !(await exists(changes))) spoiled.set(root, true);
    },
    async restore(unpacker, droplet) {
      const { root } = droplet;
      if (spoiled.has(root) && !isInUse(root)) {
        spoiled.delete(root);
        discarding.set(
          root,
          unpacker.discard(root).finally(() => discarding.delete(root)),
        );
      }
      // Every start of this moment waits, so that none begins in files that are about to go.
      await discarding.get(root);
      await unpacker.restore(droplet);
    },
  };
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
