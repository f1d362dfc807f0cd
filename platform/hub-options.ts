// The options of `cupola` for the agent of a cluster that the hub cannot call.
import type { Command } from "commander";
import type { HubSettings } from "./platform-options.ts";
import { readOptionFile } from "./read-option-file.ts";

export interface HubOptions {
  hub?: string;
  hubCluster?: string;
  hubToken?: string;
  hubCa?: string;
  hubAccountToken?: string;
}

export function addHubOptions(command: Command): Command {
  return command
    .option("--hub <url>", "the hub's API server, for the operation agent of a cluster that the hub cannot call")
    .option("--hub-cluster <name>", "the name of this cluster on the hub")
    .option("--hub-token <file>", "a first token of the agent's account on the hub, which the agent renews by itself")
    .option("--hub-ca <file>", "the authority of the hub's API server (default: the public ones)")
    .option("--hub-account-token <file>", "a token of the account by which the agent works on this cluster");
}

/** Undefined without an option. @throws Error that names what is missing */
export function toHubSettings(options: HubOptions): HubSettings | undefined {
  const { hub: server, hubCluster: cluster, hubToken, hubCa, hubAccountToken } = options;
  if ([server, cluster, hubToken, hubCa, hubAccountToken].every((one) => one === undefined)) return undefined;
  if (server === undefined || cluster === undefined || hubToken === undefined || hubAccountToken === undefined)
    throw new Error("--hub, --hub-cluster, --hub-token and --hub-account-token go together");
  if (!/^https:\/\//.test(server) || !URL.canParse(server))
    throw new Error(`--hub: "${server}" is no address of an API server: give https://HOST:PORT`);
  return {
    server,
    cluster,
    ...(hubCa !== undefined && { ca: readOptionFile("--hub-ca", hubCa) }),
    // Kubernetes fills and renews the files.
    readToken: () => readOptionFile("--hub-token", hubToken).trim(),
    readAccountToken: () => readOptionFile("--hub-account-token", hubAccountToken).trim(),
  };
}
