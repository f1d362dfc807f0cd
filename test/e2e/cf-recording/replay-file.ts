// replay.golden.json: the cases of stock cf whose requests are sent again in every run, with what is compared of the answers.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Template } from "../cf-traffic/traffic.ts";
import type { Who } from "../cf/support/who.ts";
import type { Uploads } from "./templates.ts";
import { digestOf } from "./upload-content.ts";

export const REPLAY_FILE = join(import.meta.dirname, "replay.golden.json");

/** Objects that all cases find on the platform, by the names that stand for it. */
export const GROUND_NAMES = { org: "guid-1", space: "guid-2", domain: "guid-3", droplet: "guid-4" } as const;
/** Stands for the name by which a case calls what it makes. */
export const OWN = "<own>";

export interface ReplayedExchange {
  as?: Who;
  request: RecordedRequest;
  status: number;
  /** Expected answer. */
  body: Template;
  /** The header: a job, or what was made. */
  location?: string;
}

export interface ReplayedCase {
  /** `cf app: no such app`. */
  name: string;
  /** Its own name in the recording. */
  own: string;
  exchanges: readonly ReplayedExchange[];
}

export interface Replay {
  cases: readonly ReplayedCase[];
  uploads: Uploads;
}

/** In the file an answer's body stands once, by its digest. */
interface ReplayFile {
  uploads: Uploads;
  answers: Record<string, Template>;
  cases: (Omit<ReplayedCase, "exchanges"> & {
    exchanges: (Omit<ReplayedExchange, "body"> & { answer?: string })[];
  })[];
}

/** Empty before the first recording. */
export function readReplay(): Replay {
  if (!existsSync(REPLAY_FILE)) return { cases: [], uploads: {} };
  const { uploads, answers, cases } = JSON.parse(readFileSync(REPLAY_FILE, "utf8")) as ReplayFile;
  return {
    uploads,
    cases: cases.map(({ exchanges, ...one }) => ({
      ...one,
      exchanges: exchanges.map(({ answer, ...rest }) => ({
        ...rest,
        body: (answer === undefined ? "" : answers[answer]) ?? "",
      })),
    })),
  };
}

/** An exchange, answer or upload a line. */
export function replayText({ cases, uploads }: Replay): string {
  const answers: Record<string, Template> = {};
  const keyOf = (body: Template): { answer?: string } => {
    if (body === "") return {};
    const answer = digestOf(JSON.stringify(body));
    answers[answer] = body;
    return { answer };
  };
  const texts = cases.map(({ exchanges, ...one }) => {
    const lines = exchanges.map(({ body, ...rest }) => JSON.stringify({ ...rest, ...keyOf(body) }));
    return `${JSON.stringify(one).slice(0, -1)},"exchanges":[\n${lines.join(",\n")}\n]}`;
  });
  return `{"uploads":${byLine(uploads)},\n"answers":${byLine(answers)},\n"cases":[\n${texts.join(",\n")}\n]}\n`;
}

function byLine(members: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(members)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `{\n${lines.join(",\n")}\n}`;
}
