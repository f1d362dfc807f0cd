// Detection: runs bin/detect of all buildpacks of a group in parallel, and picks the first group whose plan resolves.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pLimit from "p-limit";
import { z } from "zod";
import { dropletPaths, escapeId } from "../../../host/droplet-metadata.ts";
import { type Buildpack, fitsMachine } from "./buildpack.ts";
import { buildpackEnvironment, type Workspace } from "./environment.ts";
import { StagingFailure } from "../../staging-failure.ts";
import type { GroupMember } from "./order.ts";
import { type Alternative, type Candidate, type PlanEntry, resolvePlan } from "./build-plan.ts";
import { type LineSink, runExecutable, type RunResult } from "./run-executable.ts";
import { findToml } from "./toml-file.ts";
import { describeUndetected } from "./undetected.ts";

/** The buildpacks that build, in order, their plan, and what each said that it found. */
export interface Detected {
  buildpacks: Buildpack[];
  plan: PlanEntry[];
  found: ReadonlyMap<Buildpack, string>;
}

/** The result of one bin/detect. */
type DetectResult =
  { kind: "pass"; alternatives: Alternative[]; found: string } | { kind: "fail" | "error"; message: string };

const names = z.array(z.object({ name: z.string() })).default([]);
const needs = z
  .array(z.object({ name: z.string(), metadata: z.record(z.string(), z.unknown()).default({}) }))
  .default([]);
const buildPlan = z.object({
  provides: names,
  requires: needs,
  or: z.array(z.object({ provides: names, requires: needs })).default([]),
});

const failStatus = 100;
const atOnce = 4;

export interface DetectOptions {
  workspace: Workspace;
  groups: readonly (readonly GroupMember[])[];
  /** The user named the buildpacks: one whose detect fails builds nevertheless. */
  forced: boolean;
  log: LineSink;
}

/** @throws StagingFailure NoAppDetectedError with the message of each buildpack */
export async function detect(options: DetectOptions): Promise<Detected> {
  const detectOnce = createDetector(options);
  const failures = new Map<string, string>();
  for (const [at, group] of options.groups.entries()) {
    const outcome = await tryGroup(group, detectOnce);
    if ("buildpacks" in outcome) {
      await logOthers(outcome, options, detectOnce, at);
      return outcome;
    }
    for (const [buildpackKey, message] of outcome.failures) failures.set(buildpackKey, message);
  }
  const looked = [...failures].map(([buildpackKey, message]) => `${buildpackKey}: ${message}`);
  const entries = await readdir(dropletPaths.app(options.workspace.root), { withFileTypes: true });
  throw new StagingFailure(
    "NoAppDetectedError",
    describeUndetected(
      entries.map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() })),
      looked,
    ),
  );
}

/** Says which buildpacks after the chosen ones fit, too: the order decided, and -b decides otherwise. */
async function logOthers(
  { buildpacks }: Detected,
  { groups, forced, log }: DetectOptions,
  detectOnce: Detect,
  chosenAt: number,
): Promise<void> {
  if (forced) return;
  const others = groups.slice(chosenAt + 1).flatMap((group) => group.filter((member) => !member.optional).slice(0, 1));
  const rivals = others.filter(({ buildpack }) => !buildpacks.includes(buildpack));
  const results = await Promise.all(rivals.map(async (member) => ({ member, result: await detectOnce(member) })));
  const fitting = results.flatMap(({ member: { buildpack }, result }) =>
    result.kind === "pass" ? [`${buildpack.name}${result.found && ` (${result.found})`}`] : [],
  );
  if (fitting.length > 0)
    log(
      "OUT",
      `${fitting.join(" and ")} would fit, too; ${buildpacks[0]?.name ?? ""} comes first in the order of buildpacks. Choose with -b`,
    );
}

type Detect = (member: GroupMember) => Promise<DetectResult>;

/** Runs bin/detect once for each buildpack, even if several groups contain it. */
function createDetector(options: DetectOptions): Detect {
  const limit = pLimit(atOnce);
  const results = new Map<string, Promise<DetectResult>>();
  return ({ buildpack, optional }) => {
    const key = keyOf(buildpack);
    const result =
      results.get(key) ?? limit(() => detectBuildpack(buildpack, { ...options, forced: options.forced && !optional }));
    results.set(key, result);
    return result;
  };
}

async function tryGroup(
  group: readonly GroupMember[],
  detectOnce: Detect,
): Promise<Detected | { failures: Map<string, string> }> {
  const results = await Promise.all(group.map(async (member) => ({ member, result: await detectOnce(member) })));
  const failures = new Map<string, string>();
  const candidates: Candidate[] = [];
  const found = new Map<Buildpack, string>();
  let failed = false;
  for (const { member, result } of results) {
    const key = keyOf(member.buildpack);
    if (result.kind === "pass") {
      candidates.push({ key, optional: member.optional, alternatives: result.alternatives });
      found.set(member.buildpack, result.found);
    } else if (!member.optional) failures.set(key, result.message);
    if (result.kind !== "pass" && !member.optional) failed = true;
  }
  if (failed || candidates.length === 0) return { failures };
  const resolution = resolvePlan(candidates);
  if ("problem" in resolution)
    return { failures: failures.set(group.map((member) => member.buildpack.id).join(" + "), resolution.problem) };
  const chosen = new Set(resolution.members);
  return {
    buildpacks: group.map((member) => member.buildpack).filter((buildpack) => chosen.has(keyOf(buildpack))),
    plan: resolution.plan,
    found,
  };
}

/** Identifies a buildpack within one build; a group cannot contain it twice. */
export function keyOf(buildpack: Pick<Buildpack, "id" | "version">): string {
  return `${buildpack.id}@${buildpack.version}`;
}

async function detectBuildpack(buildpack: Buildpack, options: DetectOptions): Promise<DetectResult> {
  const { workspace } = options;
  if (!fitsMachine(buildpack, workspace.machine))
    return { kind: "fail", message: `it is not for ${workspace.machine.os}/${workspace.machine.arch}` };
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
  const found = result.status === 0 ? shortLine(lines) : "";
  const passed = result.status === 0 || (options.forced && result.status === failStatus);
  // Detects run in parallel, so the output of each is logged in one piece. The output of a plain "no" (100) is not logged.
  const isShown = passed ? found === "" : result.status !== failStatus;
  if (isShown) for (const [stream, line] of lines) options.log(stream, line);
  return passed ? { kind: "pass", alternatives: await readAlternatives(plan, buildpack), found } : toFailure(result);
}

/** The only line of a detect that passed, if it is short: it names what was found, and is shown with the buildpack's name. */
function shortLine(lines: readonly (readonly ["OUT" | "ERR", string])[]): string {
  const [first, ...more] = lines;
  return first && first[0] === "OUT" && more.length === 0 && first[1].length <= 60 ? first[1] : "";
}

function toFailure(result: RunResult): DetectResult {
  const message = result.lastOutput.trim().split("\n").slice(-3).join(" ");
  if (result.status === failStatus) return { kind: "fail", message: message || "does not fit" };
  return { kind: "error", message: `bin/detect ended with ${result.status}${message ? `, saying: ${message}` : ""}` };
}

async function readAlternatives(path: string, buildpack: Buildpack): Promise<Alternative[]> {
  const plan = await findToml(path, buildPlan, keyOf(buildpack));
  if (!plan) return [{ provides: [], requires: [] }];
  return [plan, ...plan.or].map(({ provides, requires }) => ({ provides: provides.map((one) => one.name), requires }));
}
