// Refusals that many commands have in common.
import { makeApp } from "./apps.ts";
import type { Case } from "./case.ts";
import type { Who } from "./who.ts";

/** Refusal of a command on a missing app. @param rest arguments after the app's name */
export function noSuchApp(command: string, rest = ""): Case {
  const run = `${command} no-such-app ${rest}`.trim();
  return { name: "no such app", run, refused: ["App 'no-such-app' not found", "FAILED"] };
}

/** A person who sees the app and may not do that. */
export function forbidden(as: Who, run: string, given: Case["given"] = (one) => makeApp(one, { is: "stopped" })): Case {
  return {
    name: `by ${/^[aeiou]/.test(as) ? "an" : "a"} ${as}`,
    as,
    given,
    run,
    refused: ["You are not authorized to perform the requested action"],
  };
}
