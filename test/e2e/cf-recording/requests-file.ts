// requests.golden.json: the requests of each case of stock cf, as lines of request-line.ts, each once and in the order of its first time.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const REQUESTS_FILE = join(import.meta.dirname, "requests.golden.json");

/** By group of cases, then by case: `cf app: no such app`. */
export type RecordedRequests = Record<string, Record<string, string[]>>;

/** Empty before the first recording. */
export function readRequests(): RecordedRequests {
  return existsSync(REQUESTS_FILE) ? (JSON.parse(readFileSync(REQUESTS_FILE, "utf8")) as RecordedRequests) : {};
}

/** The file's text: a case a line, so that a difference is read as a list of cases. */
export function writeRequests(groups: RecordedRequests): string {
  const texts = Object.entries(groups)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([group, cases]) => {
      const lines = Object.entries(cases).map(
        ([name, requests]) => `${JSON.stringify(name)}:${JSON.stringify(requests)}`,
      );
      return `${JSON.stringify(group)}:{\n${lines.join(",\n")}\n}`;
    });
  return `{\n${texts.join(",\n")}\n}\n`;
}
