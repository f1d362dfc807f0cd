// A person on the stage besides admin and developer: a service account, with its token at both doors.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { apiAt, type Api } from "./api.ts";
import type { TestPlatform, CommandResult } from "./test-platform.ts";

export interface User {
  /** Kubernetes' name of it, which is also its CF GUID. */
  name: string;
  api: Api;
  token: string;
  kubectl(...args: string[]): Promise<CommandResult>;
}

/** Makes a user who has no role anywhere. @throws Error with what kubectl said */
export async function newUser(testPlatform: TestPlatform, name: string): Promise<User> {
  await succeed(testPlatform.kubectl("create", "serviceaccount", name, "-n", "default"));
  const token = (await succeed(testPlatform.kubectl("create", "token", name, "-n", "default"))).trim();
  const config = parse(readFileSync(testPlatform.kubeconfig, "utf8")) as { clusters: { name: string }[] };
  const file = join(testPlatform.home, `kubeconfig-${name}`);
  const contexts = [{ name, context: { cluster: config.clusters[0]?.name, user: name } }];
  writeFileSync(file, stringify({ ...config, users: [{ name, user: { token } }], contexts, "current-context": name }), {
    mode: 0o600,
  });
  return {
    name: `system:serviceaccount:default:${name}`,
    api: apiAt(testPlatform.url, token),
    token,
    kubectl: (...args) => testPlatform.kubectl("--kubeconfig", file, ...args),
  };
}

async function succeed(ran: Promise<CommandResult>): Promise<string> {
  const { code, output } = await ran;
  if (code !== 0) throw new Error(`kubectl ended with ${code}: ${output}`);
  return output;
}
