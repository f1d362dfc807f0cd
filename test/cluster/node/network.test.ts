// Addresses and routes of nodes.
import { expect, test } from "vitest";
import { nodeAddress, nodeCommands } from "./network.ts";

test("each node has a wire to this machine and a range of pods of its own", () => {
  expect(nodeAddress(7, 0)).toEqual({ host: "10.77.7.1", node: "10.77.7.2", pods: "10.244.0.0/24" });
  expect(nodeAddress(7, 1)).toEqual({ host: "10.77.7.5", node: "10.77.7.6", pods: "10.244.1.0/24" });
});

test("a node reaches the other and its pods by the wire between them, and all else through this machine", () => {
  const commands = nodeCommands([nodeAddress(7, 0), nodeAddress(7, 1)], 1);
  expect(commands.split("\n").filter((line) => line.startsWith("route"))).toEqual([
    "route add default via 10.77.7.5 src 10.77.7.6",
    "route add 10.77.7.2/32 dev to-node1 src 10.77.7.6",
    "route add 10.244.0.0/24 via 10.77.7.2 dev to-node1 onlink src 10.77.7.6",
  ]);
});

test("a single node has no wire to another", () => {
  expect(nodeCommands([nodeAddress(7, 0)], 0)).not.toContain("to-node");
});
