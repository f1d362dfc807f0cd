// `node scripts/cf-recordings.ts FOLDER`: makes the golden files of the cases of cf from the recordings that CUPOLA_RECORD_CASES=FOLDER left.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEndpoints } from "../api/endpoints.ts";
import type { Services } from "../api/services.ts";
import { allCaseNames, caseName } from "../test/e2e/cf-recording/case-names.ts";
import type { CaseRecording } from "../test/e2e/cf-recording/case-recorder.ts";
import { chooseCases } from "../test/e2e/cf-recording/choose-cases.ts";
import { REPLAY_FILE, replayText } from "../test/e2e/cf-recording/replay-file.ts";
import { readTraffic, type RecordedExchange } from "../test/e2e/cf-traffic/traffic.ts";
import { lineWriter } from "../test/e2e/cf-recording/request-line.ts";
import { readRequests, REQUESTS_FILE, writeRequests } from "../test/e2e/cf-recording/requests-file.ts";

const JOURNEY_FILE = join(import.meta.dirname, "..", "test", "e2e", "cf-traffic.golden.json");
const folder = process.argv[2];
if (!folder || !existsSync(folder)) {
  console.error("say the folder of the recordings: node scripts/cf-recordings.ts FOLDER");
  process.exit(1);
}
const toLine = lineWriter(createEndpoints({} as Services));
const groups = readRequests();
const recordings: CaseRecording[][] = [];
for (const file of readdirSync(folder).sort()) {
  const cases = JSON.parse(readFileSync(join(folder, file), "utf8")) as CaseRecording[];
  recordings.push(cases);
  const group = file.split(".")[0] ?? "";
  for (const { command, name, exchanges } of cases) {
    if (command === "") continue;
    if (exchanges.some(({ answer }) => answer.status >= 500))
      throw new Error(`${file}: cf ${command}: ${name} met a fault; record it again`);
    const lines = new Set(exchanges.filter(({ isOfCommand }) => isOfCommand).map(toLine));
    groups[group] = { ...groups[group], [caseName(command, name)]: [...lines] };
  }
}
const existing = allCaseNames();
for (const cases of Object.values(groups))
  for (const name of Object.keys(cases)) if (!existing.has(name)) delete cases[name];
writeFileSync(REQUESTS_FILE, writeRequests(groups));

const kindOf = (exchange: RecordedExchange): string => {
  const [method = "", path = "", ...rest] = toLine(exchange).split(" ");
  return `${method} ${path} ${rest.at(-1) ?? ""}`;
};
const journey = readTraffic(JOURNEY_FILE).flatMap(({ exchanges }) => exchanges);
const chosen = chooseCases(recordings, { kindOf, covered: new Set(journey.map(kindOf)) });
writeFileSync(REPLAY_FILE, replayText(chosen));
console.log(`${chosen.length} cases to replay, ${chosen.flatMap(({ exchanges }) => exchanges).length} requests`);
