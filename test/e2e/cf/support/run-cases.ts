// Runs tables of cases on one platform: arranges, runs cf, looks at its output, then at its effect. One after another; on a node several at a time.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { recordCases, type CaseRecorder } from "../../cf-recording/case-recorder.ts";
import { whyNoCf } from "../../support/cf.ts";
import { countOnSecondCluster, wantsSecondCluster } from "../../support/second-cluster.ts";
import { chosenPlatformKind, startTestPlatform } from "../../support/start-test-platform.ts";
import type { CommandResult } from "../../support/test-platform.ts";
import { baseDroplet, stopApps } from "./apps.ts";
import { isWorking, type Case, type CaseRun, type CommandCases, type Pattern } from "./case.ts";
import { layGround, type Ground } from "./ground.ts";
import { DOMAIN, ORG, SPACE } from "./places.ts";
import type { Who } from "./who.ts";

const HELLO = join(import.meta.dirname, "..", "..", "..", "..", "examples", "hello");

/** A group of commands with a platform of its own. `setUp` makes what many of its cases share. */
export function runGroup(
  title: string,
  tables: readonly CommandCases[],
  setUp?: (ground: Ground) => Promise<unknown>,
): void {
  const reason = whyNoCf();
  if (reason) console.log(`cases of cf skipped: ${reason}`);
  describe.skipIf(reason)(title, () => {
    let ground: Ground | undefined;
    let recorder: CaseRecorder | undefined;
    let began = 0;
    beforeAll(async () => {
      const stage = await startTestPlatform();
      recorder = await recordCases(stage, title);
      ground = await layGround(stage).catch(async (error: unknown) => {
        await stage.stop();
        throw error;
      });
      if (recorder) ground.recorder = recorder;
      recorder?.setTokens(ground.tokens);
      // So that it is in no case's recording.
      if (recorder) await stageBase(ground);
      await setUp?.(ground);
      began = Date.now();
    });
    afterAll(async () => {
      console.log(`cases of ${title}: ${Math.round((Date.now() - began) / 1000)} s`);
      await recorder?.close();
      await ground?.stage.stop();
    });
    describeCases(tables, () => ground!);
    test.runIf(wantsSecondCluster())("some of them used the second cluster", async () =>
      expect(await countOnSecondCluster(ground!.stage)).toBeGreaterThan(0),
    );
  });
}

async function stageBase(ground: Ground): Promise<void> {
  const { folder, values } = newRun(ground, "base");
  await baseDroplet(ground, values["hello"] ?? "", folder);
}

/** The cases on a platform that is there already. On a node, where each waits for pods, those that may run at the same time do. */
export function describeCases(tables: readonly CommandCases[], ground: () => Ground): void {
  const named = nameCases(tables);
  const isParallel = chosenPlatformKind() === "node";
  const isBeside = ({ one }: NamedCase): boolean => isParallel && !one.alone;
  describeNamed(named.filter(isBeside), ground, true);
  describeNamed(
    named.filter((each) => !isBeside(each)),
    ground,
    false,
  );
}

interface NamedCase {
  command: string;
  /** The case's own, by which it names what it makes. */
  name: string;
  one: Case;
}

/** Several tables may have the same command. */
function nameCases(tables: readonly CommandCases[]): NamedCase[] {
  const counts = new Map<string, number>();
  return tables.flatMap(({ command, cases }) =>
    cases.map((one) => {
      const count = (counts.get(command) ?? 0) + 1;
      counts.set(command, count);
      return { command, name: `${command}-${count}`, one };
    }),
  );
}

function describeNamed(cases: readonly NamedCase[], ground: () => Ground, concurrent: boolean): void {
  for (const [command, own] of Map.groupBy(cases, (each) => each.command))
    describe(`cf ${command}`, { concurrent }, () => {
      for (const { one, name } of own)
        test(one.name, async (context) => {
          if (one.laptopOnly !== undefined && chosenPlatformKind() === "node") context.skip(one.laptopOnly);
          ground().recorder?.begin({ command, name: one.name, ownName: name });
          await runCase(ground(), one, name);
        });
    });
}

type Fill = (text: string) => string;

async function runCase(ground: Ground, one: Case, name: string): Promise<void> {
  const run = newRun(ground, name);
  // Hundreds of pods of cases that are over would leave no room on a node.
  await judge(run, one).finally(() => ground.stage.on === "node" && stopApps(run));
}

async function judge(run: CaseRun, one: Case): Promise<void> {
  const home = await homeOf(run, one);
  await one.given?.(run);
  const fill: Fill = (text) => text.replace(/\{([a-zA-Z]+)\}/g, (found, key: string) => run.values[key] ?? found);
  const args = (typeof one.run === "string" ? one.run.split(" ") : one.run).map(fill);
  const { recorder } = run.ground;
  const command = (): Promise<CommandResult> => runToEnd(run, one, { home, args, fill });
  const result = await (recorder ? recorder.command(command) : command());
  expectSaid(one, result, { said: `cf ${args.join(" ")}, as ${one.as ?? "developer"}:\n${result.output}`, fill });
  await one.effect?.(run, result.output);
}

function newRun(ground: Ground, name: string): CaseRun {
  const { stage } = ground;
  const folder = join(stage.home, "cases", name);
  // A cluster lists the buildpacks of its builder image.
  const buildpack = stage.on === "node" ? "cupola/nodejs" : "nodejs_buildpack";
  mkdirSync(folder, { recursive: true });
  return {
    ground,
    name,
    folder,
    values: {
      name,
      folder,
      org: ORG,
      space: SPACE,
      // The laptop's own space has the same name.
      spaceGUID: ground.spaceGUID,
      domain: DOMAIN,
      hello: HELLO,
      api: stage.url,
      loginAPI: ground.tokenLoginURL,
      buildpack,
    },
    async cf(who, ...args) {
      const { code, output } = await ground.runCf(ground.newHome(who, homeIn(folder, who)), { args, cwd: folder });
      if (code !== 0) throw new Error(`cf ${args.join(" ")} as ${who} ended with ${code}: ${output}`);
      return output;
    },
  };
}

/** Beside the case's folder, so that a push of the folder does not take it. */
function homeIn(folder: string, who: Who | "case"): string {
  return `${folder}.cf-${who}`;
}

function expectSaid(one: Case, { code, output }: CommandResult, { said, fill }: { said: string; fill: Fill }): void {
  expect(code, said).toBe(isWorking(one) ? 0 : (one.code ?? 1));
  const shown = isWorking(one) ? (one.shows ?? []) : one.refused;
  for (const pattern of shown) expect(matches(pattern, output, fill), `${String(pattern)} in ${said}`).toBe(true);
  for (const pattern of one.hides ?? [])
    expect(matches(pattern, output, fill), `${String(pattern)} not in ${said}`).toBe(false);
}

async function runToEnd(
  run: CaseRun,
  one: Case,
  { home, args, fill }: { home: string; args: string[]; fill: Fill },
): Promise<CommandResult> {
  const { until, input, meanwhile } = one;
  let hasEnded = false;
  const ran = run.ground
    .runCf(home, {
      args,
      cwd: run.folder,
      ...(input !== undefined && { input: fill(input) }),
      ...(until !== undefined && { until: (output: string) => matches(until, output, fill) }),
    })
    .finally(() => (hasEnded = true));
  while (meanwhile && !hasEnded) await meanwhile(run);
  return await ran;
}

function homeOf({ ground, folder }: CaseRun, { as = "developer", login }: Case): Promise<string> | string {
  const home = homeIn(folder, "case");
  return login === "token" ? ground.newTokenHome(as, home) : ground.newHome(as, home);
}

function matches(pattern: Pattern, output: string, fill: Fill): boolean {
  return typeof pattern === "string" ? output.includes(fill(pattern)) : pattern.test(output);
}
