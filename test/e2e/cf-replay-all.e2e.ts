// Every recorded case of the stock cf, sent again: of minutes, so it runs by name only. Every run sends those that add something (cf-replay).
import { afterAll, beforeAll } from "vitest";
import { describeReplay } from "./cf-recording/replay-cases.ts";
import { readReplay } from "./cf-recording/replay-file.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

let stage: TestPlatform;
beforeAll(async () => {
  stage = await startTestPlatform();
});
afterAll(() => stage?.stop());

describeReplay(() => stage, readReplay());
