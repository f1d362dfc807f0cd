// The options of `cupola` for `cf ssh`.
import type { Command } from "commander";
import { omitUndefined } from "../kube/api/omit-undefined.ts";
import { parseAddress } from "./parse-address.ts";
import type { PlatformOptions } from "./platform-options.ts";

interface Address {
  host: string;
  port: number;
}

export interface SSHOptions {
  sshListen?: Address;
  sshAddress?: Address;
}

export function addSSHOptions(command: Command): Command {
  return command
    .option(
      "--ssh-listen <host:port>",
      "where the operation ssh-proxy listens (default: any port of loopback)",
      parseAddress,
    )
    .option(
      "--ssh-address <host:port>",
      "where clients reach the SSH proxy, for the operation api; the proxy is another process (default: no cf ssh)",
      parseAddress,
    );
}

/** Undefined without an option. */
export function toSSHSettings({ sshListen, sshAddress }: SSHOptions): PlatformOptions["ssh"] {
  if (!sshListen && !sshAddress) return undefined;
  const address =
    sshAddress && `${sshAddress.host.includes(":") ? `[${sshAddress.host}]` : sshAddress.host}:${sshAddress.port}`;
  return omitUndefined({ listen: sshListen, address });
}
