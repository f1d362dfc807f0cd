// `node scripts/cf-recordings.ts FOLDER`: makes the golden files of the cases of cf from the recordings that CUPOLA_RECORD_CASES=FOLDER left.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEndpoints } from "../api/endpoints.ts";
import type { Services } from "../api/routing/services.ts";
import { allCaseNames, caseName } from "../test/e2e/cf-recording/case-names.ts";
import type { GroupRecording } from "../test/e2e/cf-recording/raw-recording.ts";
import { mergeReplay } from "../test/e2e/cf-recording/merge-replay.ts";
import { readReplay, REPLAY_FILE, replayText, type ReplayedCase } from "../test/e2e/cf-recording/replay-file.ts";
import { lineWriter } from "../test/e2e/cf-recording/request-line.ts";
import { readRequests, REQUESTS_FILE, writeRequests } from "../test/e2e/cf-recording/requests-file.ts";
import { toTemplates, type Uploads } from "../test/e2e/cf-recording/templates.ts";
import { toReplay } from "../test/e2e/cf-recording/to-replay.ts";

const folder = process.argv[2];
if (!folder || !existsSync(folder)) {
  console.error("say the folder of the recordings: node scripts/cf-recordings.ts FOLDER");
  process.exit(1);
}
const toLine = lineWriter(createEndpoints({} as Services));
const groups = readRequests();
const uploads: Uploads = {};
const replayed: ReplayedCase[] = [];
for (const file of readdirSync(folder).sort()) {
  const recording = JSON.parse(readFileSync(join(folder, file), "utf8")) as GroupRecording;
  const cases = await toTemplates(recording, uploads);
  const group = file.split(".")[0] ?? "";
  for (const { command, name, exchanges } of cases) {
    if (command === "") continue;
    if (exchanges.some(({ answer }) => answer.status >= 500))
      throw new Error(`${file}: cf ${command}: ${name} met a fault; record it again`);
    const lines = new Set(exchanges.filter(({ isOfCommand }) => isOfCommand).map(toLine));
    groups[group] = { ...groups[group], [caseName(command, name)]: [...lines] };
  }
  for (const one of toReplay(cases)) {
    if ("reason" in one) console.log(`cannot be sent again: ${one.name}: ${one.reason}`);
    else replayed.push(one);
  }
}
const existing = allCaseNames();
for (const cases of Object.values(groups))
  for (const name of Object.keys(cases)) if (!existing.has(name)) delete cases[name];
writeFileSync(REQUESTS_FILE, writeRequests(groups));
const replay = mergeReplay(readReplay(), { cases: replayed, uploads }, existing);
writeFileSync(REPLAY_FILE, replayText(replay));
console.log(`recorded ${replayed.length} cases of ${replay.cases.length}`);
