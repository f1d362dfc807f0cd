// Numbers on the command line.
import { InvalidArgumentError } from "commander";

/** @throws InvalidArgumentError */
export function toPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new InvalidArgumentError("a port is a number from 0 to 65535.");
  return port;
}

/** @throws InvalidArgumentError */
export function toCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) throw new InvalidArgumentError("a whole number, 0 or more.");
  return count;
}

/** A comma list. @throws InvalidArgumentError */
export function toPercentages(text: string): number[] {
  const percentages = text.split(",").map(Number);
  if (!percentages.every((one) => Number.isInteger(one) && one >= 1 && one <= 100))
    throw new InvalidArgumentError("percentages from 1 to 100 with commas between, such as 10,50.");
  return percentages;
}

const SECONDS_BY_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a duration such as 30m. @throws InvalidArgumentError */
export function toDuration(text: string): number {
  const [, number, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(number) * (SECONDS_BY_UNIT[unit] ?? NaN);
  if (!(seconds > 0)) throw new InvalidArgumentError("a duration such as 30m, 2h or 1d.");
  return seconds;
}
