// Recorded traffic of the stock cf: for each command the requests that it sent and the answers that it got, with names for what differs between two runs.
import { readFileSync, writeFileSync } from "node:fs";

/** JSON in which a string may hold placeholders (match.ts). */
export type Template = string | number | boolean | null | readonly Template[] | { readonly [key: string]: Template };

/** The form of an upload, without its content. */
export interface FormPart {
  name: string;
  filename?: string;
  /** A small text as it is. */
  text?: string;
  /** Size of a file: the power of two that it fits in. */
  fitsBytes?: number;
  /** Content of a file in a case, by its key or by the name of bytes. */
  content?: string;
}

export interface RecordedRequest {
  method: string;
  path: string;
  contentType?: string;
  body?: Template;
  form?: readonly FormPart[];
}

export interface RecordedAnswer {
  status: number;
  /** content-type, location and x-cf-warnings, where there are any. */
  headers: Readonly<Record<string, string>>;
  body: Template;
}

export interface RecordedExchange {
  request: RecordedRequest;
  answer: RecordedAnswer;
}

export interface RecordedCommand {
  /** As typed. */
  command: string;
  exchanges: readonly RecordedExchange[];
}

/** @throws Error when the file is not there */
export function readTraffic(file: string): RecordedCommand[] {
  return JSON.parse(readFileSync(file, "utf8")) as RecordedCommand[];
}

/** An exchange a line, so that a difference is read as a list of them. */
export function writeTraffic(file: string, commands: readonly RecordedCommand[]): void {
  const texts = commands.map(
    ({ command, exchanges }) =>
      `{"command":${JSON.stringify(command)},"exchanges":[\n${exchanges.map((exchange) => JSON.stringify(exchange)).join(",\n")}\n]}`,
  );
  writeFileSync(file, `[\n${texts.join(",\n")}\n]\n`);
}
