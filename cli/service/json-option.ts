// JSON on the command line: the object itself, or the path of a file with it.
import { readFileSync } from "node:fs";
import { Failure } from "../failure.ts";

/** @param option as a person typed it, for the message @throws Failure (usage); no value is in its message, as it may be secret */
export function toJSONObject(text: string, option: string): Record<string, unknown> {
  const isInline = text.trimStart().startsWith("{");
  const value = parse(isInline ? text : read(text, option), option);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw wrong(`${option} needs a JSON object`);
}

function read(path: string, option: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw wrong(`${option} is neither a JSON object nor a file that can be read`, cause);
  }
}

function parse(text: string, option: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text.
    throw wrong(`${option} is not valid JSON`);
  }
}

const wrong = (message: string, cause?: unknown): Failure =>
  new Failure(message, {
    kind: "usage",
    next: `'{"name": "value"}', or the path of a file with such an object`,
    cause,
  });
