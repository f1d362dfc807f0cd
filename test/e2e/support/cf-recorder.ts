// Records what the stock cf sends and gets for the whole list of what it must do: run by UPDATE_GOLDEN=1 where there is a cf.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { normaliser } from "../cf-traffic/normalise.ts";
import type { RecordedCommand } from "../cf-traffic/traffic.ts";
import { eventually } from "../../eventually.ts";
import type { TestPlatform } from "./test-platform.ts";
import { startRecordingProxy } from "./recording-proxy.ts";

/** Pushed files; the replay packs them, too. */
export const SOURCE = join(import.meta.dirname, "..", "cf-traffic", "source");

/** A command as typed, what it is told on stdin, and for how long it is let run when it does not end by itself. */
interface Step {
  command: string;
  input?: string;
  endAfterMs?: number;
}

const MANIFEST = `applications:
- name: one
  path: ${SOURCE}
  memory: ((memory))
  env: { COLOUR: ((colour)) }
  routes: [{ route: one-((colour)).apps.localhost }]
  processes:
  - { type: web, instances: 1, health-check-type: port }
  - { type: worker, instances: 1, memory: 64M, health-check-type: process }
- name: two
  path: ${SOURCE}
  memory: 64M
  no-route: true
  health-check-type: process
  command: sleep 1000
`;

const STEPS: readonly Step[] = [
  { command: "api URL" },
  { command: "login", input: "1\n" },
  ...[
    "auth admin",
    "orgs",
    "create-org acme",
    "org acme",
    "create-space test -o acme",
    "target -o acme -s test",
    "spaces",
    "space test",
    "domains",
    "buildpacks",
    "stacks",
    "push hello -p SOURCE -m 64M -k 128M -i 1 -u http --endpoint / -b nodejs_buildpack",
    "apps",
    "app hello",
    "app hello --guid",
    "logs hello --recent",
  ].map((command) => ({ command })),
  { command: "logs hello", endAfterMs: 2500 },
  ...[
    "set-env hello GREETING hi",
    "env hello",
    "unset-env hello GREETING",
    "scale hello",
    "scale hello -i 2",
    "app hello",
    "scale hello -i 1",
    "scale hello -m 96M -f",
    "stop hello",
    "app hello",
    "start hello",
    "restart hello",
    "restage hello",
    "create-route apps.localhost --hostname second --path /deep",
    "map-route hello apps.localhost --hostname second --path /deep",
    "routes",
    "check-route apps.localhost --hostname second --path /deep",
    "unmap-route hello apps.localhost --hostname second --path /deep",
    "delete-route apps.localhost --hostname second --path /deep -f",
    "check-route apps.localhost --hostname second --path /deep",
    "push -f MANIFEST --var memory=64M --var colour=blue",
    "app one",
    "app two",
    "push quiet -p SOURCE --no-start",
    "push hello -p SOURCE",
    "apps",
    "curl /v3/apps?names=hello",
    "app nobody",
    "create-space test",
    "delete hello -f -r",
    "delete one -f -r",
    "routes",
    "delete-space test -o acme -f",
    "delete-org acme -f",
    "orgs",
  ].map((command) => ({ command })),
];

/** Runs all commands against a fresh stage. @throws Error when one of them hangs */
export async function recordCf(testPlatform: TestPlatform, cf: string): Promise<RecordedCommand[]> {
  const proxy = await startRecordingProxy(testPlatform.port);
  const normalise = normaliser({ url: proxy.url, folder: SOURCE });
  const home = join(testPlatform.home, "cf-recorder");
  mkdirSync(home);
  writeFileSync(join(home, "two-apps.yml"), MANIFEST);
  const env = {
    ...process.env,
    CF_HOME: home,
    KUBECONFIG: testPlatform.kubeconfig,
    CF_COLOR: "false",
    CF_TRACE: "",
    LANG: "en_US.UTF-8",
  };
  const commands: RecordedCommand[] = [];
  try {
    for (const step of STEPS) {
      const args = step.command
        .split(" ")
        .map((word) => ({ URL: proxy.url, SOURCE, MANIFEST: join(home, "two-apps.yml") })[word] ?? word);
      const { code, output } = await runCf(cf, args, { step, env, cwd: home });
      console.log(`cf ${step.command}: ${code}${code === 0 ? "" : `\n${output}`}`);
      commands.push({ command: step.command, exchanges: normalise(proxy.exchanges.splice(0)) });
      await untilSteady(testPlatform);
    }
  } finally {
    await proxy.close();
  }
  return commands;
}

async function runCf(
  cf: string,
  args: readonly string[],
  { step, env, cwd }: { step: Step; env: NodeJS.ProcessEnv; cwd: string },
): Promise<{ code: number | null; output: string }> {
  const child = spawn(cf, args, { env, cwd, stdio: ["pipe", "pipe", "pipe"], timeout: step.endAfterMs ?? 120_000 });
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.stdin.end(step.input ?? "");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, output: out + err };
}

/** The next command meets what the replay will meet: instances that run, none that starts or stops. */
async function untilSteady(testPlatform: TestPlatform): Promise<void> {
  await delay(50);
  await eventually(async () => {
    const { output } = await testPlatform.kubectl("get", "lrps.workloads.cupola.dev", "-A", "-o", "json");
    const { items } = JSON.parse(output) as {
      items: { spec: { instances: number }; status?: { runningInstances?: number; instances?: object[] } }[];
    };
    for (const { spec, status } of items)
      if (status?.runningInstances !== spec.instances || status.instances?.length !== spec.instances)
        throw new Error(`an LRP has ${status?.runningInstances} of ${spec.instances}`);
  });
}
