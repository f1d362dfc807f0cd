// Addresses and ports of the command line of `cupola`.
import { InvalidArgumentError } from "commander";

/** @throws InvalidArgumentError */
export function parsePort(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 65535)
    throw new InvalidArgumentError("a port is a number from 0 to 65535.");
  return number;
}

/** `host:port`, an IPv6 address in brackets. @throws InvalidArgumentError */
export function parseAddress(text: string): { host: string; port: number } {
  const [, host, number] = /^(\[[0-9a-fA-F:]+\]|[^:[\]/]+):(\d+)$/.exec(text) ?? [];
  if (!host || !number) throw new InvalidArgumentError("an address is a host and a port, as in 192.0.2.7:9443.");
  return { host: host.replace(/^\[|\]$/g, ""), port: parsePort(number) };
}
