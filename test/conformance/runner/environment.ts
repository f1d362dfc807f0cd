// Needs of the runners' suite of a place where a runner class works: objects, a probe app, and a way to the instances.
import type { LRP, LrpInstance } from "../../../crds/lrp/lrp.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { StatusHistory } from "./status-history.ts";

/** A line that an instance wrote. `stream` means something only where the class says that it keeps streams apart. */
export interface LogLine {
  index: number;
  stream: "OUT" | "ERR";
  text: string;
}

/** Measurements of an instance by a class. Memory in bytes, `cpu` in cores. */
export interface InstanceUsage {
  index: number;
  mem: number;
  cpu: number;
}

/** A running class and a space for the suite's LRPs. The suite reads nothing of the runner but LRPs, its BackendClass, and this. */
export interface RunnerEnvironment {
  /** Somebody who may do everything. */
  client: KubeClient;
  /** Name of the BackendClass. */
  className: string;
  /** The space's. */
  namespace: string;
  space: { guid: string; name: string };
  /** probe/probe.mjs, as a droplet that the class takes. */
  droplet: LRP["spec"]["droplet"];
  /** Starts it, in a shell, with its working directory where the droplet's app is. */
  command: string;
  /** How long a condition may take, in ms. */
  patience: number;
  /** A GET to a port of an instance, as a router would send it. Rejects when nothing listens. */
  request(instance: LrpInstance, port: number, path: string): Promise<{ status: number; body: string }>;
  /** Absent where the class publishes none. */
  logs?: (lrp: LRP) => Promise<LogLine[]>;
  usage?: (lrp: LRP) => Promise<InstanceUsage[]>;
  stop(): Promise<void>;
}

/** Shared state of the rows. */
export interface RunnerFixtures {
  env: RunnerEnvironment;
  /** Capabilities of the BackendClass. Rows about what the class does not claim are skipped. */
  capabilities: Readonly<Record<string, string>>;
  history: StatusHistory;
}
