// The options of `cupola` for clients that log in without a kubeconfig.
import { type Command, InvalidArgumentError } from "commander";
import type { LoginSettings } from "../api/routing/login-service.ts";
import { omitUndefined } from "../kube/api/omit-undefined.ts";

export interface LoginOptions {
  tokenLoginHosts?: string[];
  loginUrl?: string;
  uaaUrl?: string;
}

export function addLoginOptions(command: Command): Command {
  return command
    .option(
      "--token-login-hosts <names>",
      "host names of the API, separated by commas, under which clients log in with a token of Kubernetes instead of a kubeconfig",
      parseHosts,
    )
    .option(
      "--login-url <url>",
      "login server of an existing UAA, named under those hosts (default: the API)",
      parseURL,
    )
    .option("--uaa-url <url>", "address of an existing UAA, named under those hosts (default: the API)", parseURL);
}

/** @throws Error when an option needs another */
export function toLoginSettings({ tokenLoginHosts = [], loginUrl, uaaUrl }: LoginOptions): LoginSettings {
  if (tokenLoginHosts.length === 0 && (loginUrl ?? uaaUrl) !== undefined)
    throw new Error("--login-url and --uaa-url go with --token-login-hosts");
  if ((loginUrl === undefined) !== (uaaUrl === undefined)) throw new Error("--login-url and --uaa-url go together");
  return { tokenLoginHosts, ...omitUndefined({ loginURL: loginUrl, uaaURL: uaaUrl }) };
}

function parseHosts(text: string): string[] {
  const hosts = text.toLowerCase().split(",");
  if (!hosts.every((host) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(host)))
    throw new InvalidArgumentError("host names have neither a scheme nor a port, as in login.example.org.");
  return hosts;
}

/** Without a slash at the end. */
function parseURL(text: string): string {
  if (!URL.canParse(text) || new URL(text).protocol !== "https:")
    throw new InvalidArgumentError("an address is an https URL, as in https://uaa.example.org.");
  return text.replace(/\/+$/, "");
}
