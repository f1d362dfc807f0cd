// Child process: many simulated clusters.
import type { KubeObject } from "../../../kube/api/object.ts";
import { childOptions, serveParent } from "../child-process.ts";
import { startSimulatedSpoke, type SeenWrite, type SimulatedSpoke } from "./simulated-spoke.ts";

export interface SpokesProcessOptions {
  count: number;
}

/** Sums over all clusters. */
export interface SpokeCounts {
  writes: number;
  lrps: number;
  connections: number;
}

const { count } = childOptions<SpokesProcessOptions>();
const spokes = new Map<string, SimulatedSpoke>();
for (let at = 0; at < count; at++) {
  const name = `sim-${at}`;
  spokes.set(name, await startSimulatedSpoke(name));
}
const all = (): SimulatedSpoke[] => [...spokes.values()];
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

serveParent(
  {
    urls: (): [string, string][] => [...spokes].map(([name, { url }]) => [name, url]),
    counts: async (): Promise<SpokeCounts> => ({
      writes: sum(all().map((spoke) => spoke.countWrites())),
      lrps: sum(all().map((spoke) => spoke.lrps().length)),
      connections: sum(await Promise.all(all().map((spoke) => spoke.countConnections()))),
    }),
    takeWrites: (): SeenWrite[] => all().flatMap((spoke) => spoke.takeWrites()),
    lrps: (): [string, KubeObject[]][] => all().map((spoke) => [spoke.url, spoke.lrps()]),
    wipe: () => all().forEach((spoke) => spoke.wipe()),
    blackHole: ({ name, isBlack }: { name: string; isBlack: boolean }) => spokes.get(name)?.setBlackHole(isBlack),
    flip: (app: string) => all().forEach((spoke) => spoke.flip(app)),
  },
  () => Promise.resolve(),
);
