// The addresses at which clients reach a router of the platform's own cluster, for DNS records. Those of other clusters are in their Cluster.
import { z } from "zod";

/** Parameter of a router class: IP addresses with commas between them. */
export const ROUTER_ADDRESSES = "addresses";

const address = z.union([z.ipv4(), z.ipv6()]);

/** Anything that is no IP address is left out. */
export function parseRouterAddresses(text: string | undefined): string[] {
  const parts = (text ?? "").split(",").map((part) => part.trim());
  return parts.filter((part) => address.safeParse(part).success);
}
