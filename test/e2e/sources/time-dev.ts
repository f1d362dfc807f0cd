// Seconds from a saved file to the app's new answer, with `cup dev`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { SourceApp } from "./app.ts";
import { deleteApp, folderOf, writeApp } from "./push-app.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "bin", "cup.js");
const SAVES = 3;

/** Times of some saves in a row, each after the answer to the one before. The app is gone afterwards. */
export async function timeDev(stage: TestPlatform, app: SourceApp): Promise<number[]> {
  await writeApp(stage, app, "before");
  const child = spawn(process.execPath, [CUP, "dev", "--manifest", join(folderOf(stage, app), "manifest.yml")], {
    env: { ...process.env, CUPOLA_HOME: stage.home, CUP_HOME: join(stage.home, "cup"), KUBECONFIG: stage.kubeconfig },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  let told = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (told += text));
  const seconds: number[] = [];
  try {
    await eventually(() => expect(told).toContain("Watching"), 180_000);
    for (let save = 1; save <= SAVES; save++) {
      const started = Date.now();
      await writeApp(stage, app, `saved ${save}`);
      await untilAnswers(stage, app, { text: `saved ${save}`, told: () => told });
      seconds.push((Date.now() - started) / 1000);
      await eventually(() => expect(told.match(/Waiting for instances: web:1\/1/g)).toHaveLength(save + 1), 30_000);
    }
  } finally {
    child.kill("SIGINT");
    await exited;
  }
  await deleteApp(stage, app);
  return seconds;
}

/** Asks often: a pause between two questions would be part of the time. @throws Error with what `cup dev` said at the deadline */
async function untilAnswers(
  stage: TestPlatform,
  app: SourceApp,
  { text, told }: { text: string; told: () => string },
): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await stage.get(`${app.name}.apps.localhost`, app.at)).body.includes(text)) {
    if (Date.now() > deadline) throw new Error(`${app.name} does not answer ${text}: ${told().slice(-2000)}`);
    await delay(20);
  }
}
