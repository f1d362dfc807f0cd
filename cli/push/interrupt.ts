// Message at Ctrl-C: the platform goes on by itself, so a user who stops watching learns what goes on.
import { stderrColours } from "../colours.ts";
import { printError } from "../output.ts";
import { quoteForShell } from "../shell-words.ts";
import { repeatSource } from "./advice.ts";
import type { PushOptions } from "./options.ts";

const INTERRUPTED = 130;

/** Where a push is. */
export type Phase = "packing" | "uploading" | "building" | "starting";

/** Work that goes on after Ctrl-C in this phase, and how to see it or to push again. Pure. */
export function afterInterrupt({ phase, app }: { phase: Phase; app: string }, options: PushOptions): string {
  return repeatSource(whatGoesOn(phase, app), options);
}

function whatGoesOn(phase: Phase, name: string): string {
  const app = quoteForShell(name);
  switch (phase) {
    case "packing":
      return "Nothing was changed.";
    case "uploading":
      return `${name} runs as before, if it did. Next: cup push ${app}`;
    case "building":
      return `The build goes on; ${name} is not started with it. Next: cup logs ${app}, or again: cup push ${app}`;
    case "starting":
      return `${name} goes on starting. Next: cup app ${app}`;
  }
}

/** Ends `cup` at Ctrl-C with what `describe` says then. The returned function undoes it. */
export function tellAtInterrupt(describe: () => string): () => void {
  const onSignal = (): void => {
    printError("", `${stderrColours.yellow("!")} Stopped watching. ${describe()}`);
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", onSignal);
  return () => process.off("SIGINT", onSignal);
}
