// Detection: runs bin/detect of the buildpacks of each group, at once, and picks the first group whose plan works out.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { z } from "zod";
import { dropletPaths, escapeId } from "../../../host/droplet-metadata.ts";
import { type Buildpack, fitsMachine } from "./buildpack.ts";
import { buildpackEnvironment, type Workspace } from "./environment.ts";
import { StagingFailure } from "./staging-failure.ts";
import type { GroupMember } from "./order.ts";
import { type Alternative, type Candidate, type PlanEntry, resolvePlan } from "./build-plan.ts";
import { type LineSink, runExecutable, type RunResult } from "./run-executable.ts";
import { findToml } from "./toml-file.ts";

/** Who builds, in order, and what is asked of them. */
export interface Detected {
  buildpacks: Buildpack[];
  plan: PlanEntry[];
}

/** How one bin/detect ended. */
type Verdict = { kind: "pass"; alternatives: Alternative[] } | { kind: "fail" | "error"; words: string };

const names = z.array(z.object({ name: z.string() })).default([]);
const needs = z.array(z.object({ name: z.string(), metadata: z.record(z.string(), z.unknown()).default({}) })).default([]);
const buildPlan = z.object({ provides: names, requires: needs, or: z.array(z.object({ provides: names, requires: needs })).default([]) });

const failStatus = 100;
const atOnce = 4;

export interface DetectOptions {
  workspace: Workspace;
  groups: readonly (readonly GroupMember[])[];
  /** The buildpacks were named by the user: one that says "fail" builds all the same. */
  forced: boolean;
  log: LineSink;
}

/** @throws StagingFailure NoAppDetectedError with what each buildpack said */
export async function detect(options: DetectOptions): Promise<Detected> {
  const ask = createAsker(options);
  const complaints = new Map<string, string>();
  for (const group of options.groups) {
    const outcome = await tryGroup(group, ask);
    if ("buildpacks" in outcome) return outcome;
    for (const [who, why] of outcome.complaints) complaints.set(who, why);
  }
  const said = [...complaints].map(([who, why]) => `${who}: ${why}`).join("; ");
  throw new StagingFailure("NoAppDetectedError", `none of the buildpacks fits the app (${said || "there are none"})`);
}

type Ask = (member: GroupMember) => Promise<Verdict>;

/** Each buildpack is asked once, in however many groups it is. */
function createAsker(options: DetectOptions): Ask {
  const limit = pLimit(atOnce);
  const asked = new Map<string, Promise<Verdict>>();
  return ({ buildpack, optional }) => {
    const key = keyOf(buildpack);
    const verdict = asked.get(key) ?? limit(() => askBuildpack(buildpack, { ...options, forced: options.forced && !optional }));
    asked.set(key, verdict);
    return verdict;
  };
}

async function tryGroup(group: readonly GroupMember[], ask: Ask): Promise<Detected | { complaints: Map<string, string> }> {
  const verdicts = await Promise.all(group.map(async (member) => ({ member, verdict: await ask(member) })));
  const complaints = new Map<string, string>();
  const candidates: Candidate[] = [];
  let failed = false;
  for (const { member, verdict } of verdicts) {
    const key = keyOf(member.buildpack);
    if (verdict.kind === "pass") candidates.push({ key, optional: member.optional, alternatives: verdict.alternatives });
    else complaints.set(key, verdict.words);
    if (verdict.kind !== "pass" && !member.optional) failed = true;
  }
  if (failed || candidates.length === 0) return { complaints };
  const resolution = resolvePlan(candidates);
  if ("problem" in resolution) return { complaints: complaints.set(group.map((member) => member.buildpack.id).join(" + "), resolution.problem) };
  const chosen = new Set(resolution.members);
  return { buildpacks: group.map((member) => member.buildpack).filter((buildpack) => chosen.has(keyOf(buildpack))), plan: resolution.plan };
}

/** A buildpack's name within one build: the same one cannot be in a group twice. */
export function keyOf(buildpack: Pick<Buildpack, "id" | "version">): string {
  return `${buildpack.id}@${buildpack.version}`;
}

async function askBuildpack(buildpack: Buildpack, options: DetectOptions): Promise<Verdict> {
  const { workspace } = options;
  if (!fitsMachine(buildpack, workspace.machine)) return { kind: "fail", words: `it is not for ${workspace.machine.os}/${workspace.machine.arch}` };
  const plan = join(workspace.work, "plans", `${escapeId(buildpack.id)}-${buildpack.version}.toml`);
  await mkdir(join(workspace.work, "plans"), { recursive: true });
  await writeFile(plan, "");
  const lines: ["OUT" | "ERR", string][] = [];
  const result = await runExecutable(join(buildpack.directory, "bin", "detect"), {
    args: [workspace.platform, plan],
    cwd: dropletPaths.app(workspace.root),
    env: buildpackEnvironment(workspace, buildpack, workspace.base, { CNB_BUILD_PLAN_PATH: plan }),
    log: (stream, line) => void lines.push([stream, line]),
  });
  const passed = result.status === 0 || (options.forced && result.status === failStatus);
  // Detects run side by side; the words of each are shown together, and those of a plain "no" not at all.
  if (passed || result.status !== failStatus) for (const [stream, line] of lines) options.log(stream, line);
  return passed ? { kind: "pass", alternatives: await readAlternatives(plan, buildpack) } : toRefusal(result);
}

function toRefusal(result: RunResult): Verdict {
  const words = result.lastWords.trim().split("\n").slice(-3).join(" ");
  if (result.status === failStatus) return { kind: "fail", words: words || "does not fit" };
  return { kind: "error", words: `bin/detect ended with ${result.status}${words ? `, saying: ${words}` : ""}` };
}

async function readAlternatives(path: string, buildpack: Buildpack): Promise<Alternative[]> {
  const plan = await findToml(path, buildPlan, keyOf(buildpack));
  if (!plan) return [{ provides: [], requires: [] }];
  return [plan, ...plan.or].map(({ provides, requires }) => ({ provides: provides.map((one) => one.name), requires }));
}
