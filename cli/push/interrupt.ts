// What Ctrl-C leaves behind: the platform goes on by itself, so whoever stops watching is told with what.
import { stderrColours } from "../colours.ts";

const INTERRUPTED = 130;

/** Where a push is. */
export type Phase = "packing" | "uploading" | "building" | "starting";

/** What goes on after Ctrl-C in this phase, and how to see it. Pure. */
export function afterInterrupt(phase: Phase, app: string): string {
  switch (phase) {
    case "packing":
      return "Nothing was changed.";
    case "uploading":
      return `${app} runs as before, if it did. Next: cup push ${app}`;
    case "building":
      return `The build goes on; ${app} is not started with it. Next: cup logs ${app}, or again: cup push ${app}`;
    case "starting":
      return `${app} goes on starting. Next: cup app ${app}`;
  }
}

/** Ends `cup` at Ctrl-C with what `describe` says then. The returned function undoes it. */
export function tellAtInterrupt(describe: () => string): () => void {
  const onSignal = (): void => {
    process.stderr.write(`\n${stderrColours.yellow("!")} Stopped watching. ${describe()}\n`);
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", onSignal);
  return () => process.off("SIGINT", onSignal);
}
