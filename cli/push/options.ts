// Options of `cup push` and `cup render`.

export interface PushOptions {
  /** A path; false for --no-manifest. */
  manifest?: string | false;
  path?: string;
  buildpack?: string[];
  command?: string;
  instances?: number;
  memory?: string;
  disk?: string;
  healthCheckType?: string;
  endpoint?: string;
  appStartTimeout?: number;
  stack?: string;
  dockerImage?: string;
  /** false for --no-route. */
  route?: boolean;
  randomRoute?: boolean;
  /** false for --no-start. */
  start?: boolean;
  var?: string[];
  varsFile?: string[];
  strategy?: "rolling" | "canary";
  maxInFlight?: number;
  /** Percentages. */
  steps?: number[];
}
