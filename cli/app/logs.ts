// `cup logs`: follows, or with --recent prints what there is.
import type { Context } from "../context.ts";
import { printJson, printLines, silentProgress, type Result } from "../output.ts";
import { followLog, formatLine, recentLog, type LogLine } from "./log-stream.ts";

export async function logs(context: Context, name: string, options: { recent?: boolean }): Promise<Result> {
  const app = await context.app(name);
  const lines = await recentLog(context.api, app.guid);
  if (options.recent) return { json: lines.map(toJson), text: lines.map(formatLine) };
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  context.progress.step(`Following the log of ${name}; Ctrl-C ends`);
  const print = (line: LogLine): void =>
    context.progress === silentProgress ? printJson(toJson(line)) : printLines(formatLine(line));
  for (const line of lines.slice(-10)) print(line);
  const since = (lines.at(-1)?.timestamp ?? 0n) + 1n;
  for await (const line of followLog(context.api, app.guid, { since, signal: stop.signal })) print(line);
  return { json: undefined, text: [] };
}

function toJson(line: LogLine): object {
  return { ...line, timestamp: String(line.timestamp) };
}
