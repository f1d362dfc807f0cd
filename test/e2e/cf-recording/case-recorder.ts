// Records what a case's people send to the CF API and what they get: those who prepare it, cf itself, and those who look at its effect.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startRecordingProxy, type Exchange } from "../support/recording-proxy.ts";
import type { TestPlatform } from "../support/test-platform.ts";
import type { Who } from "../cf/support/who.ts";
import type { CaseRecording, GroupRecording, RawExchange } from "./raw-recording.ts";

/** The folder for recordings, which scripts/cf-recordings.ts reads; nothing is recorded without it. */
const FOLDER = process.env["CUPOLA_RECORD_CASES"];

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
  platform.url = proxy.url;
  const cases: CaseRecording[] = [{ command: "", name: "", ownName: "", exchanges: [] }];
  let people = new Map<string, Who>();
  const take = (isOfCommand: boolean): void => {
    const exchanges = proxy.exchanges.splice(0).map((exchange) => toRaw(exchange, people, isOfCommand));
    cases.at(-1)?.exchanges.push(...exchanges);
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
      const recording: GroupRecording = { url: proxy.url, folder: join(platform.home, "cases"), cases };
      mkdirSync(FOLDER, { recursive: true });
      // A group may be recorded in several runs.
      writeFileSync(join(FOLDER, `${group.replaceAll(" ", "-")}.${process.pid}.json`), JSON.stringify(recording));
    },
  };
}

/** Without the token. */
function toRaw(
  { requestHeaders, requestBody, headers, body, ...rest }: Exchange,
  people: ReadonlyMap<string, Who>,
  isOfCommand: boolean,
): RawExchange {
  const as = people.get((requestHeaders.authorization ?? "").replace(/^bearer /i, ""));
  const contentType = requestHeaders["content-type"];
  return {
    ...rest,
    ...(as && { as }),
    ...(contentType && { contentType }),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    requestBody: requestBody.toString("base64"),
    body: body.toString("base64"),
    isOfCommand,
  };
}
