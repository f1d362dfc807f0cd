// Pushes an app of the sources journey as its developer would, and splits the time into the tools' part and ours.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { eventually } from "../../eventually.ts";
import { findProgram } from "../../find-program.ts";
import { cfOn } from "../support/cf.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import { filesOf, type SourceApp } from "./app.ts";
import type { TimingProxy } from "./timing-proxy.ts";

/** Seconds of one push: all of it; what was ours: without package managers, compilers, build scripts, and what `cf` did by itself; and that, where it was measured. */
export interface PushTime {
  whole: number;
  ours: number;
  ofCf?: number;
}

/** The programs that the app needs and the machine lacks. */
export function findMissing({ needs = [] }: SourceApp): string[] {
  return needs.filter((name) => findProgram(name) === undefined);
}

/** Writes the app's folder with `text` in it, and its manifest. */
export async function writeApp(stage: TestPlatform, app: SourceApp, text: string): Promise<void> {
  const folder = folderOf(stage, app);
  const isPrepared = existsSync(folder) && !app.prepareAgain;
  for (const [path, content] of filesOf(app, text)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const application = { name: app.name, memory: "192M", ...(app.path && { path: app.path }), ...app.manifest };
  writeFileSync(join(folder, "manifest.yml"), stringify({ applications: [application] }));
  for (const command of isPrepared ? [] : (app.prepare ?? [])) {
    const { code, output } = await runCommand([...command], { cwd: folder, deadlineMs: 180_000 });
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${output}`);
  }
}

/** Pushes it with `cup` or `cf`, and waits until it answers `text`. @throws Error with the push's output when it fails */
export async function pushApp(
  stage: TestPlatform,
  app: SourceApp,
  { by, text, proxy }: { by: "cup" | "cf"; text: string; proxy?: TimingProxy | undefined },
): Promise<PushTime & { output: string }> {
  const folder = folderOf(stage, app);
  const started = Date.now();
  proxy?.begin();
  const { code, output } = await (by === "cup"
    ? stage.cup("push", "--manifest", join(folder, "manifest.yml"))
    : cfOn(stage, { cwd: folder })("push"));
  const whole = (Date.now() - started) / 1000;
  const ofCf = proxy?.ownSeconds();
  expect(code, `${by} push of ${app.name}\n${output}`).toBe(0);
  await eventually(async () => {
    const answer = await stage.get(`${app.name}.apps.localhost`, app.at);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain(text);
  }, 30_000);
  const steps = by === "cup" ? output : await recentLog(stage, app, started);
  return { whole, ours: whole - timeOfTools(steps) - (ofCf ?? 0), output, ...(ofCf !== undefined && { ofCf }) };
}

/** Removes the app and its folder, which may be large. */
export async function deleteApp(stage: TestPlatform, app: SourceApp): Promise<void> {
  const { code, output } = await stage.cup("delete", app.name, "--routes", "--force");
  expect(code, output).toBe(0);
  rmSync(folderOf(stage, app), { recursive: true, force: true });
}

export function folderOf(stage: TestPlatform, app: SourceApp): string {
  return join(stage.home, "sources", app.name);
}

/** `cf push` leaves out what a build logs in its last two seconds. @param since milliseconds */
async function recentLog(stage: TestPlatform, { name }: SourceApp, since: number): Promise<string> {
  const { code, output } = await cfOn(stage)("logs", name, "--recent");
  expect(code, output).toBe(0);
  const isSince = (line: string): boolean => Date.parse(/\d{4}-\S+Z|\d{4}-\S+[+-]\d{4}/.exec(line)?.[0] ?? "") >= since;
  return output.split("\n").filter(isSince).join("\n");
}

/** The seconds that the build's steps say. */
function timeOfTools(output: string): number {
  return [...output.matchAll(/^.*\bdone in (\d+\.\d) s\s*$/gm)].reduce((sum, [, seconds]) => sum + Number(seconds), 0);
}
