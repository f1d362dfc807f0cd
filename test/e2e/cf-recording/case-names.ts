// The names under which the requests of cases are recorded.
import { TABLES } from "../cf/tables.ts";
import type { Case } from "../cf/support/case.ts";

/** Names of all cases, as `cf app: no such app`. */
export function allCaseNames(): Set<string> {
  return namesOf(() => true);
}

/** Names of cases that run alone. */
export function namesOfCasesAlone(): Set<string> {
  return namesOf(({ alone = false }) => alone);
}

function namesOf(isWanted: (one: Case) => boolean): Set<string> {
  return new Set(
    Object.values(TABLES).flatMap((tables) =>
      tables.flatMap(({ command, cases }) => cases.filter(isWanted).map(({ name }) => caseName(command, name))),
    ),
  );
}

export function caseName(command: string, name: string): string {
  return `cf ${command}: ${name}`;
}
