// Follows the Clusters: engages them after each change of a spec, and from time to time.
import type { Cluster } from "../../crds/cluster/cluster.ts";

/** When a Secret is read again, in case its authority has changed. */
const REFRESH_MS = 60_000;
const RETRY_MS = 5_000;

export interface Following {
  /** Undefined while the clusters are not known. */
  list(): readonly Cluster[] | undefined;
  onChange(listener: () => void): () => void;
  engage(clusters: readonly Cluster[]): Promise<void>;
  onError(error: unknown): void;
}

/** Engages one call at a time. Returns the function that ends it. */
export function followClusters(following: Following): () => void {
  const follower = new Follower(following);
  const unsubscribe = following.onChange(() => follower.run(false));
  follower.run(false);
  return () => {
    unsubscribe();
    follower.stop();
  };
}

class Follower {
  readonly #following: Following;
  /** The specs that were engaged last. */
  #engaged: string | undefined;
  #isRunning = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(following: Following) {
    this.#following = following;
  }

  /** `isForced`: although no spec has changed. */
  run(isForced: boolean): void {
    const clusters = this.#following.list()?.filter(({ metadata }) => !metadata.deletionTimestamp);
    if (this.#isRunning || this.#isStopped || !clusters) return;
    const specs = JSON.stringify(clusters.map(({ metadata, spec }) => [metadata.name, metadata.uid, spec]));
    if (specs === this.#engaged && !isForced) return;
    this.#isRunning = true;
    void this.#engage(clusters).then((isDone) => {
      this.#isRunning = false;
      if (isDone) this.#engaged = specs;
      if (!isDone || clusters.length > 0) this.#runAfter(isDone ? REFRESH_MS : RETRY_MS);
      // After a failure the timer does.
      if (isDone) this.run(false);
    });
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #engage(clusters: readonly Cluster[]): Promise<boolean> {
    try {
      await this.#following.engage(clusters);
      return true;
    } catch (error) {
      this.#following.onError(error);
      return false;
    }
  }

  #runAfter(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(() => this.run(true), milliseconds).unref();
  }
}
