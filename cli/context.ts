// What every command gets, and the one place where its result or failure is printed.
import type { Command } from "commander";
import pc from "picocolors";
import { apiClient, type ApiClient, type Resource } from "./api/client.ts";
import { EXIT_CODES, Failure } from "./failure.ts";
import { stderrProgress, type Progress, type Result } from "./output.ts";
import { authorizationOf, resolveTarget, type Target } from "./target/resolve.ts";

export interface Context {
  target: Target;
  api: ApiClient;
  progress: Progress;
  /** The targeted org. @throws Failure (target) */
  org(): Promise<{ guid: string; name: string }>;
  /** The targeted space. @throws Failure (target) */
  space(): Promise<{ guid: string; name: string }>;
  /** An app of the targeted space by name. @throws Failure */
  app(name: string): Promise<Resource>;
}

/** Options every command has. */
export interface CommonOptions {
  json?: boolean;
}

/** Runs an action that needs a target, prints what it answers and sets the exit code. */
export function withContext<Args extends unknown[]>(action: (context: Context, ...args: Args) => Promise<Result>) {
  return withoutContext(async (progress: Progress, ...args: Args) => action(await makeContext(progress), ...args));
}

/** As withContext, for commands that need no target. Commander calls it with the arguments, the options and the command. */
export function withoutContext<Args extends unknown[]>(action: (progress: Progress, ...args: Args) => Promise<Result>) {
  return async (...all: [...Args, Command]): Promise<void> => {
    const command = all.at(-1) as Command;
    const json = command.optsWithGlobals<CommonOptions>().json === true;
    try {
      const result = await action(stderrProgress(json), ...(all.slice(0, -1) as unknown as Args));
      process.stdout.write(json ? `${JSON.stringify(result.json, null, 2)}\n` : result.text.map((line) => `${line}\n`).join(""));
    } catch (error) {
      report(error, json);
    }
  };
}

function report(error: unknown, json: boolean): void {
  const failure = error instanceof Failure ? error : new Failure(error instanceof Error ? error.message : String(error), { cause: error });
  process.exitCode = EXIT_CODES[failure.kind];
  if (json) process.stdout.write(`${JSON.stringify({ error: { kind: failure.kind, message: failure.message, next: failure.next } }, null, 2)}\n`);
  else process.stderr.write(`${pc.red("✗")} ${failure.message}\n${failure.next ? `  Next: ${failure.next}\n` : ""}`);
}

async function makeContext(progress: Progress): Promise<Context> {
  const target = resolveTarget();
  return contextFor(target, apiClient(target.api, await authorizationOf(target)), progress);
}

/** The context of a target. Org and space default to the only ones there are. */
export function contextFor(target: Target, api: ApiClient, progress: Progress): Context {
  const org = (): Promise<{ guid: string; name: string }> => (target.org ? Promise.resolve(target.org) : onlyOne(api, "/v3/organizations", "org"));
  const space = async (): Promise<{ guid: string; name: string }> => target.space ?? onlyOne(api, "/v3/spaces", "space", { organization_guids: (await org()).guid });
  return { target, api, progress, org, space, app: async (name) => named(api, "/v3/apps", name, { space_guids: (await space()).guid }) };
}

async function onlyOne(api: ApiClient, path: string, what: string, query: Record<string, string> = {}): Promise<Resource> {
  const [first, ...more] = await api.list(path, query);
  if (first && more.length === 0) return first;
  throw new Failure(first ? `there are several ${what}s` : `you have no ${what}`, { kind: "target", next: first ? `cup target --${what} NAME` : `cup create-${what} NAME` });
}

/** One object by name. @throws Failure that says so when there is none. */
export async function named(api: ApiClient, path: string, name: string, query: Record<string, string> = {}): Promise<Resource> {
  const what = path.split("/").at(-1)?.replace(/s$/, "") ?? "object";
  const [found] = await api.list(path, { names: encodeURIComponent(name), ...query });
  if (!found) throw new Failure(`${what} ${name} does not exist, or you may not see it`, { next: what === "app" ? "cup apps" : `cup ${what === "organization" ? "org" : what}s` });
  return found;
}
