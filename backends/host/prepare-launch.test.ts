// The app's own profile scripts, as Cloud Foundry's launcher runs them.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ProcessDefinition, writeMetadata } from "./droplet-metadata.ts";
import { prepareLaunch } from "./prepare-launch.ts";

const run = promisify(execFile);
const print = `echo "$FIRST $SECOND $THIRD $PWD"`;
const processes: ProcessDefinition[] = [
  { type: "direct", command: ["/bin/sh", "-c", print], args: [], direct: true },
  { type: "arguments", command: ["printenv"], args: ["FIRST", "THIRD"], direct: true },
  { type: "shell", command: [print], args: [], direct: false },
  { type: "elsewhere", command: ["/bin/sh", "-c", print], args: [], direct: true, workingDirectory: "sub" },
];
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "cupola-launch-"));
  await mkdir(join(root, "app", "sub"), { recursive: true });
  await writeMetadata(root, { buildpacks: [], processes, labels: {} });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function output(processType: string, command?: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? "" };
  const spec = await prepareLaunch({ root, processType, env, ...(command !== undefined && { command }) });
  const [file = "", ...args] = spec.command;
  return (await run(file, args, { cwd: spec.cwd, env: spec.env })).stdout.trim();
}

describe("with .profile.d and .profile in the app", () => {
  beforeEach(async () => {
    const folder = join(root, "app", ".profile.d");
    await mkdir(join(folder, "a-folder"), { recursive: true });
    await writeFile(join(folder, "2.sh"), "export SECOND=$FIRST-2\n");
    await writeFile(join(folder, "1.sh"), "export FIRST=1\n");
    await writeFile(join(root, "app", ".profile"), "export THIRD=$SECOND-3\n");
  });

  test.each([
    ["direct", "1 1-2 1-2-3 APP"],
    ["shell", "1 1-2 1-2-3 APP"],
    ["elsewhere", "1 1-2 1-2-3 APP/sub"],
    ["arguments", "1\n1-2-3"],
  ])("the %s process of the droplet sees what they exported, in their order", async (type, expected) => {
    expect(await output(type)).toBe(expected.replace("APP", join(root, "app")));
  });

  test("a start command of its own sees it, too", async () => {
    expect(await output("direct", "echo $THIRD")).toBe("1-2-3");
  });
});

test("without them a direct process is spawned as it is", async () => {
  const spec = await prepareLaunch({ root, processType: "direct", env: {} });
  expect(spec.command).toEqual(["/bin/sh", "-c", print]);
});
