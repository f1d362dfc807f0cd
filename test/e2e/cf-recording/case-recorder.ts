// Records what a case's people send to the CF API and what they get: those who prepare it, cf itself, and those who look at its effect.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exchangeNormaliser } from "../cf-traffic/normalise.ts";
import type { RecordedExchange } from "../cf-traffic/traffic.ts";
import { startRecordingProxy, type Exchange } from "../support/recording-proxy.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { Who } from "../cf/support/who.ts";

/** The folder for recordings, which scripts/cf-recordings.ts reads; nothing is recorded without it. */
const FOLDER = process.env["CUPOLA_RECORD_CASES"];

export interface CaseExchange extends RecordedExchange {
  /** Who sent it; undefined without a token. */
  as?: Who;
  /** Sent by the command that the case is about, and not by what is before and after it. */
  isOfCommand: boolean;
}

export interface CaseRecording {
  /** As typed. Empty for what all cases of the group share. */
  command: string;
  name: string;
  /** What the case calls what it makes: `push-3`. */
  ownName: string;
  exchanges: CaseExchange[];
}

export interface CaseRecorder {
  /** Ends what was before: what is recorded from now on belongs to this case. */
  begin(one: Omit<CaseRecording, "exchanges">): void;
  /** Runs the case's command. */
  command<T>(run: () => Promise<T>): Promise<T>;
  /** The people whose tokens requests carry. */
  setTokens(tokens: Readonly<Partial<Record<Who, string>>>): void;
  /** Writes the file of the group. */
  close(): Promise<void>;
}

/** From now on the platform's address is that of a proxy. Undefined when nobody asked for a recording. */
export async function recordCases(platform: TestPlatform, group: string): Promise<CaseRecorder | undefined> {
  // Cases of a node run beside each other.
  if (FOLDER === undefined || platform.on === "node") return undefined;
  const proxy = await startRecordingProxy(platform.port, platform.url);
  const normalise = exchangeNormaliser({ url: proxy.url, folder: join(platform.home, "cases") });
  platform.url = proxy.url;
  const cases: CaseRecording[] = [{ command: "", name: "", ownName: "", exchanges: [] }];
  let people = new Map<string, Who>();
  const take = (isOfCommand: boolean): void => {
    const exchanges = proxy.exchanges.splice(0).map((exchange) => {
      const as = people.get(tokenIn(exchange));
      return { ...normalise(exchange), ...(as && { as }), isOfCommand };
    });
    cases.at(-1)?.exchanges.push(...withoutRepetitions(exchanges));
  };
  return {
    begin(one) {
      take(false);
      cases.push({ ...one, exchanges: [] });
    },
    async command(run) {
      take(false);
      return await run().finally(() => take(true));
    },
    setTokens(tokens) {
      people = new Map(Object.entries(tokens).map(([who, token]) => [token, who as Who]));
    },
    async close() {
      take(false);
      await proxy.close();
      mkdirSync(FOLDER, { recursive: true });
      // A group may be recorded in several runs.
      writeFileSync(join(FOLDER, `${group.replaceAll(" ", "-")}.${process.pid}.json`), JSON.stringify(cases));
    },
  };
}

function tokenIn({ requestHeaders }: Exchange): string {
  return (requestHeaders.authorization ?? "").replace(/^bearer /i, "");
}

/** Of a question asked again and again at once, only the last time. */
function withoutRepetitions(exchanges: readonly CaseExchange[]): CaseExchange[] {
  return exchanges.filter((exchange, at) => {
    const next = exchanges[at + 1];
    return !(next && exchange.request.method === "GET" && isSame(exchange, next));
  });
}

function isSame(one: CaseExchange, other: CaseExchange): boolean {
  return one.request.method === other.request.method && one.request.path === other.request.path && one.as === other.as;
}
