// A program that somebody runs beside an instance, by `cf ssh`: in its environment, files and limits. Runners start it.
import type { Readable, Writable } from "node:stream";
import type { LRP } from "../crds/lrp/lrp.ts";

export interface Terminal {
  /** Value of TERM. */
  term: string;
  rows: number;
  columns: number;
}

export interface RemoteProcessRequest {
  lrp: LRP;
  index: number;
  /** For a shell. Undefined: an interactive shell. */
  command: string | undefined;
  /** Its output is one stream then. */
  terminal?: Terminal | undefined;
}

export interface RemoteExit {
  code?: number | undefined;
  signal?: string | undefined;
}

export interface RemoteProcess {
  stdin: Writable;
  stdout: Readable;
  /** Undefined with a terminal. */
  stderr: Readable | undefined;
  /** Never rejects. */
  exited: Promise<RemoteExit>;
  /** Does nothing where the system cannot. */
  resize(size: Pick<Terminal, "rows" | "columns">): void;
  /** Ends it and everything that it started. Never rejects; may be called again. */
  end(): Promise<void>;
  /** Resolves some time after `end`, once the platform has nothing open for it; never rejects. Undefined: at its end. */
  gone?: Promise<void>;
}

/** Starts the program. @throws InstanceAway when no such instance runs; any other error is the platform's */
export type OpenRemoteProcess = (request: RemoteProcessRequest) => Promise<RemoteProcess>;

/** An error for the person who asked. */
export class InstanceAway extends Error {}

/** The runners of this process whose instances take such programs, by class. */
export interface RemoteProcesses {
  /** Returns the function that removes it. */
  register(className: string, open: OpenRemoteProcess): () => void;
  find(className: string): OpenRemoteProcess | undefined;
}

export function createRemoteProcesses(): RemoteProcesses {
  const byClass = new Map<string, OpenRemoteProcess>();
  return {
    register(className, open) {
      byClass.set(className, open);
      return () => {
        if (byClass.get(className) === open) byClass.delete(className);
      };
    },
    find: (className) => byClass.get(className),
  };
}
