// Where a journey happens: a laptop, or a real control plane with three replicas of the platform. What a journey needs of either.

export interface CommandResult {
  code: number | null;
  output: string;
}

/** Answer of an app. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Places by the name that `--on` takes. */
export type PlatformKind = "laptop" | "cluster" | "node";

/** Kind of this place, and its life. */
export interface TestPlatformBase {
  on: PlatformKind;
  /** Everything of the stage that is on disk. */
  home: string;
  /** The CF API. */
  url: string;
  port: number;
  /** Where bytes reach the platform itself, with nothing in between. */
  rawPort: number;
  /** Where ports of TCP routes are. */
  tcpHost: string;
  kubeconfig: string;
  /** The address of this machine at which the platform reaches servers of this process, such as a service broker. */
  hostAddress: string;
  /** A certificate for that address which the platform trusts of route services; absent where they may be plain http. */
  routeServiceTLS?: { cert: string; key: string };
  /** Processes of the platform that run now. */
  pids(): number[];
  /** SIGKILL to one process of the platform, by a number in [0, 1). Resolves when it is gone. */
  kill(which: number): Promise<void>;
  /** After a kill: all of the platform runs again. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestPlatform extends TestPlatformBase {
  /** Runs `cup` with this stage as its target. */
  cup(...args: string[]): Promise<CommandResult>;
  /** As `cup`, and what it prints with --json. @throws Error when it fails */
  cupJson<T = Record<string, unknown>>(...args: string[]): Promise<T>;
  kubectl(...args: string[]): Promise<CommandResult>;
  /** A request to an app by its host. */
  get(host: string, path?: string): Promise<HttpResponse>;
}
