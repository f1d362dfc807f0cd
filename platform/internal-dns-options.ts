// The option of `cupola` for the DNS server of internal domains.
import type { Command } from "commander";
import { parseAddress } from "./parse-address.ts";

export interface InternalDNSOptions {
  internalDnsListen?: { host: string; port: number };
}

export function addInternalDNSOptions(command: Command): Command {
  return command.option(
    "--internal-dns-listen <host:port>",
    "where the operation internal-dns answers, over UDP and TCP (default: any port of loopback)",
    parseAddress,
  );
}
