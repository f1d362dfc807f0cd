// The log of a process: JSON, a line each, that a person reads without a table: the level as a word, the time as ISO 8601, the message before a stack.
import { pino, type Logger, type LoggerOptions } from "pino";
import { openLogDestination } from "./log-destination.ts";

const options: LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
  hooks: {
    logMethod(args, method) {
      const [fields, message, ...more] = args as unknown[];
      if (isFields(fields) && typeof message === "string" && more.length === 0)
        method.apply(this, [{ msg: message, ...fields }]);
      else method.apply(this, args);
    },
  },
};

/**
 * @param fd of the file or terminal to which it appends
 * @param fields of each line
 */
export function createLog(fd: number, fields: Readonly<Record<string, string>> = {}): Logger {
  return pino({ ...options, base: fields }, openLogDestination(fd));
}

/** Pino turns an Error by itself into fields, and its message wins over a field. */
function isFields(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Error) && !("msg" in value);
}
