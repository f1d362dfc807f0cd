// Colours of stdout and of stderr, each only where it is a terminal and NO_COLOR is not set.
import { isatty } from "node:tty";
import pc from "picocolors";

function coloursOf(fd: number): ReturnType<typeof pc.createColors> {
  const { NO_COLOR, TERM } = process.env;
  return pc.createColors(isatty(fd) && !NO_COLOR && TERM !== "dumb");
}

export const stdoutColours = coloursOf(1);
export const stderrColours = coloursOf(2);
