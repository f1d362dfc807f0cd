// replay.golden.json: cases of stock cf whose requests are sent again in every run, with what is needed of the answers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Template } from "../cf-traffic/traffic.ts";
import type { Who } from "../cf/support/who.ts";

export const REPLAY_FILE = join(import.meta.dirname, "replay.golden.json");

/** What all cases find on the platform, by the names that stand for it. */
export const GROUND_NAMES = { org: "guid-1", space: "guid-2", domain: "guid-3", droplet: "guid-4" } as const;

export interface ReplayedExchange {
  as?: Who;
  request: RecordedRequest;
  status: number;
  /** Of a write or a refusal: what must be answered. Of a read: given where later requests take names from it. */
  body?: Template;
  /** Of what was read: the member `state`, for which cf waited. */
  state?: string;
  /** The job of an accepted request. */
  location?: string;
}

export interface ReplayedCase {
  /** `cf app: no such app`. */
  name: string;
  exchanges: readonly ReplayedExchange[];
}

export function readReplay(): ReplayedCase[] {
  return JSON.parse(readFileSync(REPLAY_FILE, "utf8")) as ReplayedCase[];
}

/** One exchange a line. */
export function replayText(cases: readonly ReplayedCase[]): string {
  const texts = cases.map(
    ({ name, exchanges }) =>
      `{"name":${JSON.stringify(name)},"exchanges":[\n${exchanges.map((one) => JSON.stringify(one)).join(",\n")}\n]}`,
  );
  return `[\n${texts.join(",\n")}\n]\n`;
}
