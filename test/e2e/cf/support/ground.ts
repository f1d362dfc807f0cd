// Shared ground of a group's cases: a platform, an org with a space, and a person per role, each logged in to cf.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { CaseRecorder } from "../../cf-recording/case-recorder.ts";
import { apiAt, tokenOf, type Api } from "../../support/api.ts";
import type { CommandResult, TestPlatform } from "../../support/test-platform.ts";
import { newUser } from "../../support/user.ts";
import { giveRole, makePlaces, ORG, SPACE, type Places } from "./places.ts";
import { runCf, type CfRun } from "./run-cf.ts";
import { WHO, type Who } from "./who.ts";

const DEADLINE_MS = 180_000;

export interface Ground extends Places {
  stage: TestPlatform;
  /** Recorder of their requests, where a recording is wanted. */
  recorder?: CaseRecorder;
  /** The API as each of them; effects are mostly read by the admin's. */
  api: Record<Who, Api>;
  tokens: Partial<Record<Who, string>>;
  /** Names in CF, which are their GUIDs, too. */
  users: Record<Who, string>;
  /** A new CF_HOME with somebody logged in and the org and space as target, as `cf login` leaves it. */
  newHome(who: Who, folder: string): string;
  /** The same with a token login, at `tokenLoginURL`. */
  newTokenHome(who: Who, folder: string): Promise<string>;
  tokenLoginURL: string;
  runCf(home: string, run: Omit<CfRun, "env" | "deadlineMs">): Promise<CommandResult>;
}

/** @throws Error with what a command said */
export async function layGround(stage: TestPlatform): Promise<Ground> {
  const admin = apiAt(stage.url, tokenOf(stage, "admin"));
  const places = await makePlaces(admin);
  const tokens: Partial<Record<Who, string>> = { admin: tokenOf(stage, "admin") };
  const api = { admin } as Record<Who, Api>;
  const users = { admin: "admin" } as Record<Who, string>;
  for (const who of WHO) {
    if (who === "admin") continue;
    const user = await newUser(stage, who);
    [api[who], users[who], tokens[who]] = [user.api, user.name, user.token];
    await giveRole(admin, user.name, { who, ...places });
  }
  const kubeconfig = writeKubeconfig(stage, tokens);
  const env = (home: string) => ({ CF_HOME: home, KUBECONFIG: kubeconfig, CF_COLOR: "false", CF_TRACE: "" });
  const run: Ground["runCf"] = (home, one) => runCf({ ...one, env: env(home), deadlineMs: DEADLINE_MS });
  const config = await logIn(stage, run);
  const tokenLoginURL = stage.url.replace("localhost", "127.0.0.1");
  return {
    stage,
    ...places,
    api,
    tokens,
    users,
    newHome: (who, folder) => writeHome(folder, { ...config, CFOnK8s: { Enabled: true, AuthInfo: who } }),
    newTokenHome: (who, folder) => logInWithToken(tokenLoginURL, run, { folder, user: users[who], token: tokens[who] }),
    tokenLoginURL,
    runCf: run,
  };
}

/** cf finds its users in a kubeconfig by name. */
function writeKubeconfig(stage: TestPlatform, tokens: Partial<Record<Who, string>>): string {
  const { clusters, ...rest } = parse(readFileSync(stage.kubeconfig, "utf8")) as { clusters: { name: string }[] };
  const file = join(stage.home, "kubeconfig-of-cf");
  const contexts = [{ name: "cf", context: { cluster: clusters[0]?.name, user: "admin" } }];
  const users = Object.entries(tokens).map(([name, token]) => ({ name, user: { token } }));
  writeFileSync(file, stringify({ ...rest, clusters, users, contexts, "current-context": "cf" }), { mode: 0o600 });
  return file;
}

async function logInWithToken(
  url: string,
  run: Ground["runCf"],
  { folder, user, token = "" }: { folder: string; user: string; token: string | undefined },
): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const args = ["login", "-a", url, "-u", user, "-p", token, "-o", ORG, "-s", SPACE, "--skip-ssl-validation"];
  const { code, output } = await run(folder, { args, cwd: folder });
  if (code !== 0) throw new Error(`cf login as ${user} ended with ${code}: ${output}`);
  return folder;
}

/** Lets cf itself write a configuration. */
async function logIn(stage: TestPlatform, run: Ground["runCf"]): Promise<object> {
  const home = join(stage.home, "cf-admin");
  mkdirSync(home, { recursive: true });
  for (const args of [
    ["api", stage.url],
    ["auth", "admin"],
    ["target", "-o", ORG, "-s", SPACE],
  ]) {
    const { code, output } = await run(home, { args, cwd: home });
    if (code !== 0) throw new Error(`cf ${args.join(" ")} ended with ${code}: ${output}`);
  }
  return JSON.parse(readFileSync(join(home, ".cf", "config.json"), "utf8")) as object;
}

function writeHome(home: string, config: object): string {
  mkdirSync(join(home, ".cf"), { recursive: true });
  writeFileSync(join(home, ".cf", "config.json"), JSON.stringify(config), { mode: 0o600 });
  return home;
}
