// An address of this machine that is not loopback: API servers call no pod there, and listeners off loopback have TLS.
import { networkInterfaces } from "node:os";

/** @throws Error on a machine that has none */
export function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all);
  const found = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  if (found === undefined) throw new Error("this machine has no IPv4 address but loopback");
  return found;
}
