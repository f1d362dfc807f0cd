// Every table of cases: docs/cf-commands.md is made of them.
import { APP_CASES } from "./apps.cases.ts";
import type { CommandCases } from "./support/case.ts";

/** By file, without `.cases.ts`. */
export const TABLES: Record<string, readonly CommandCases[]> = {
  apps: APP_CASES,
};
