// A case: a command of stock cf, run by one kind of user, with what it must print and do.
import type { Ground } from "./ground.ts";
import type { Who } from "./who.ts";

/** A text that the output has, its `{placeholders}` filled in, or an expression that matches it. */
export type Pattern = string | RegExp;

/** Context of a running case. */
export interface CaseRun {
  ground: Ground;
  /** A name of its own, as `{name}`: for the app or whatever else the case makes. */
  name: string;
  /** A folder of its own, as `{folder}`, in which cf runs. */
  folder: string;
  /** More placeholders: `given` may set them. */
  values: Record<string, string>;
  /** Runs cf as somebody in the case's folder. @throws Error with the output when it fails */
  cf(who: Who, ...args: string[]): Promise<string>;
}

interface CaseBase {
  name: string;
  /** Why only a laptop can run it; the node's run says that. */
  laptopOnly?: string;
  /** Whether it reads or changes what all cases share, so that none may run beside it. */
  alone?: true;
  /** `developer` unless said. */
  as?: Who;
  /** The way that cf is logged in: by the kubeconfig unless said, else with the user's token, at a host of token login. */
  login?: "token";
  /** Words after `cf`, separated by spaces, with `{placeholders}`; a list where a word has a space. */
  run: string | readonly string[];
  /** Makes what the command needs. */
  given?: (run: CaseRun) => Promise<unknown>;
  /** The command line. */
  input?: string;
  /** For commands that run until they are stopped: stops cf once its output matches. */
  until?: Pattern;
  /** Runs again and again until cf ends, for example to make log lines. */
  meanwhile?: (run: CaseRun) => Promise<unknown>;
  /** Texts that the output must not have. */
  hides?: readonly Pattern[];
}

/** cf ends with 0, and what it says is so: `effect` looks at the API, at an app, or compares the output with them. */
export interface WorkingCase extends CaseBase {
  shows?: readonly Pattern[];
  effect: (run: CaseRun, output: string) => Promise<unknown>;
}

/** cf ends with 1 (or `code`) and says why. */
export interface RefusedCase extends CaseBase {
  refused: readonly Pattern[];
  code?: number;
  effect?: (run: CaseRun, output: string) => Promise<unknown>;
}

export type Case = WorkingCase | RefusedCase;

export function isWorking(one: Case): one is WorkingCase {
  return !("refused" in one);
}

/** The cases of one command. */
export interface CommandCases {
  command: string;
  cases: readonly Case[];
}
