// A TCP link to a server that can be black-holed or cut, as a network between two clusters.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export type LinkState = "open" | "black-hole" | "refusing";

export interface Link {
  port: number;
  /** Black hole: nothing passes on any connection, old or new, and none is closed. Refusing: all are closed, as those of a server that is down. */
  set(state: LinkState): void;
  close(): Promise<void>;
}

interface Pair {
  near: Socket;
  far: Socket;
}

export async function startLink(target: { host: string; port: number }): Promise<Link> {
  const pairs = new Set<Pair>();
  let state: LinkState = "open";
  const apply = ({ near, far }: Pair): void => {
    if (state === "refusing") return void [near, far].forEach((socket) => socket.destroy());
    if (state === "open") return void [near, far].forEach((socket) => socket.resume());
    for (const socket of [near, far]) socket.pause();
  };
  const server = createServer((near) => {
    if (state === "refusing") return void near.destroy();
    const pair = { near, far: connect(target) };
    pairs.add(pair);
    for (const [from, to] of [
      [pair.near, pair.far],
      [pair.far, pair.near],
    ] as const) {
      from.on("data", (data) => void (to.write(data) || from.pause()));
      from.on("drain", () => void (state === "open" && to.resume()));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
    apply(pair);
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      state = next;
      for (const pair of pairs) apply(pair);
    },
    async close() {
      state = "refusing";
      for (const pair of pairs) apply(pair);
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
