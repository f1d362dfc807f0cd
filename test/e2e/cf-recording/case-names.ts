// The names under which the requests of cases are recorded.
import { TABLES } from "../cf/tables.ts";

/** Of every case that there is, as `cf app: no such app`. */
export function allCaseNames(): Set<string> {
  return new Set(
    Object.values(TABLES).flatMap((tables) =>
      tables.flatMap(({ command, cases }) => cases.map(({ name }) => caseName(command, name))),
    ),
  );
}

export function caseName(command: string, name: string): string {
  return `cf ${command}: ${name}`;
}
