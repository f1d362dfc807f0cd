// Addresses of nodes, and the wires between them and this machine.
import { randomInt } from "node:crypto";
import { networkInterfaces } from "node:os";
import { runProgram, type Namespaces } from "./namespaces.ts";

/** Where one node is. */
export interface NodeAddress {
  /** This machine, as the node and its pods see it. */
  host: string;
  node: string;
  /** CIDR of its pods. */
  pods: string;
}

/** CIDR of the pods of all nodes. */
export const POD_NETWORK = "10.244.0.0/16";
const TRIES = 20;

/** The addresses of node `index` (from 0) of the cluster that has 10.77.`subnet`.0/24. */
export function nodeAddress(subnet: number, index: number): NodeAddress {
  const base = `10.77.${subnet}`;
  return { host: `${base}.${4 * index + 1}`, node: `${base}.${4 * index + 2}`, pods: `10.244.${index}.0/24` };
}

/** Wires the nodes to this machine and to each other in a subnet that nobody here has. Every wire goes with its node. */
export async function connectNodes(nodes: readonly Namespaces[]): Promise<NodeAddress[]> {
  const subnet = await claimSubnet(nodes[0]!);
  const addresses = nodes.map((_, index) => nodeAddress(subnet, index));
  for (const [index, node] of nodes.entries()) {
    if (index > 0) await ip(hostEnd(subnet, index, node));
    await ip(
      `addr add ${addresses[index]!.host}/30 dev ${hostDevice(subnet, index)}\nlink set ${hostDevice(subnet, index)} up\n`,
    );
    if (index > 0)
      await ip(`link add to-node1 netns ${node.pid} type veth peer name to-${node.name} netns ${nodes[0]!.pid}\n`);
  }
  for (const [index, node] of nodes.entries()) {
    await node.run(["ip", "-batch", "-"], nodeCommands(addresses, index));
    await node.run(["nft", "-f", "-"], masquerade(addresses[index]!));
  }
  return addresses;
}

/** Commands of `ip -batch` for node `index`. */
export function nodeCommands(addresses: readonly NodeAddress[], index: number): string {
  const own = addresses[index]!;
  const peers = addresses.map((address, at) => ({ ...address, name: `node${at + 1}` })).filter((_, at) => at !== index);
  return [
    "link set lo up",
    `addr add ${own.node}/30 dev eth0`,
    "link set eth0 up",
    `route add default via ${own.host} src ${own.node}`,
    ...peers.flatMap((peer) => [
      `link set to-${peer.name} up`,
      `route add ${peer.node}/32 dev to-${peer.name} src ${own.node}`,
      `route add ${peer.pods} via ${peer.node} dev to-${peer.name} onlink src ${own.node}`,
    ]),
    "",
  ].join("\n");
}

/** Only this machine does not know the way to a pod. */
function masquerade({ pods }: NodeAddress): string {
  return `table ip cupola-node {
    chain postrouting {
      type nat hook postrouting priority srcnat; policy accept;
      ip saddr ${pods} oifname "eth0" masquerade
    }
  }`;
}

/** Making the first wire claims the subnet: two clusters cannot have devices of one name. */
async function claimSubnet(node: Namespaces): Promise<number> {
  const taken = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  for (let triesLeft = TRIES; triesLeft > 0; triesLeft--) {
    const subnet = randomInt(256);
    if (taken.some((address) => address.startsWith(`10.77.${subnet}.`))) continue;
    try {
      await ip(hostEnd(subnet, 0, node));
      return subnet;
    } catch (error) {
      if (!String(error).includes("File exists")) throw error;
    }
  }
  throw new Error(`none of ${TRIES} subnets of 10.77.0.0/16 is free: stop other nodes`);
}

function hostEnd(subnet: number, index: number, node: Namespaces): string {
  return `link add ${hostDevice(subnet, index)} type veth peer name eth0 netns ${node.pid}\n`;
}

function hostDevice(subnet: number, index: number): string {
  return `cupola${subnet}-${index + 1}`;
}

async function ip(commands: string): Promise<void> {
  await runProgram(["ip", "-batch", "-"], commands);
}
