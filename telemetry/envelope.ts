// Types of logs and instance stats: entries written to a ring, and the Log Cache JSON read from it.

/** Origin of a line, which `cf logs` shows in brackets: staging, a process (`APP/PROC/WEB`), the router, the machine of the instance, the API, the log drains. */
export type SourceType = "STG" | "RTR" | "CELL" | "API" | "LGR" | `APP/${string}`;

/** A line for the ring. */
export interface LogEntry {
  /** GUID of the app that the line belongs to. */
  source: string;
  sourceType: SourceType;
  /** A line without its line end; the ring cuts it to 60 KiB. */
  message: string;
  /** Default `OUT`. */
  stream?: "OUT" | "ERR";
  /** Instance index; default `"0"`. */
  instance?: string;
  /** Further Log Cache tags, such as process_id. Share one object between calls, since it is stored by reference. */
  tags?: Record<string, string>;
  /** Nanoseconds since the epoch; now when absent. */
  time?: bigint;
}

/** An envelope as Log Cache's `/api/v1/read` presents it. Timestamps are nanoseconds in a string. */
export interface Envelope {
  timestamp: string;
  source_id: string;
  instance_id: string;
  tags: Record<string, string>;
  /** `payload` is base64. */
  log: { payload: string; type: "OUT" | "ERR" };
}

/** An envelope with metrics, by name. */
export interface GaugeEnvelope extends Omit<Envelope, "log"> {
  gauge: { metrics: Record<string, { unit: string; value: number }> };
}

export type AnyEnvelope = Envelope | GaugeEnvelope;

/** The envelope types of Log Cache; rings hold `LOG` only. */
export type EnvelopeType = "LOG" | "COUNTER" | "GAUGE" | "TIMER" | "EVENT";

/** A query for one source. `start` is inclusive, `end` exclusive, both in nanoseconds. */
export interface LogQuery {
  start?: bigint;
  end?: bigint;
  /** At most 1000; default 100. */
  limit?: number;
  /** Newest first; a limit then keeps the newest. */
  descending?: boolean;
  /** Every type when absent or empty. */
  types?: readonly EnvelopeType[];
}

/** The row of one source in `/api/v1/meta`. */
export interface SourceMeta {
  count: string;
  expired: string;
  oldestTimestamp: string;
  newestTimestamp: string;
}

/** Instance states that the CF API knows. */
export type InstanceState = "RUNNING" | "STARTING" | "CRASHED" | "DOWN" | "STOPPING";

/** The current state of one instance. Sizes are bytes, durations seconds. */
export interface InstanceStats {
  app: string;
  process: string;
  processType: string;
  /** GUID and `namespace/name` of the LRP: during a rollout a process has two. */
  lrp: string;
  lrpKey: string;
  index: number;
  /** New for every start of the instance. */
  instanceGuid: string;
  state: InstanceState;
  routable: boolean;
  /** RFC 3339, when the state was entered. */
  since: string;
  uptime: number;
  host: string;
  internalIp: string;
  ports: { external: number; internal: number }[];
  memoryQuota: number;
  diskQuota: number;
  fdsQuota: number;
  /** `cpu` is in cores (1 = one core in full), `logRate` in bytes per second. `time` is RFC 3339. Without what nobody measures. */
  usage: { time: string; cpu: number; mem: number; disk?: number; logRate?: number };
  details?: string;
}

/** Which instances to read: of one process, one app or one LRP. */
export interface StatsQuery {
  app?: string;
  process?: string;
  lrp?: string;
}

/** Returns the current stats of a runner's instances. */
export type StatsProvider = (query: StatsQuery) => InstanceStats[] | Promise<InstanceStats[]>;

/** The most envelopes one read returns. */
export const maxReadLimit = 1000;

/**
 * Milliseconds until every reader has read a line. `cf` reads log lines that are 2 s old, every 250 ms, and stops when a build has ended; so the failure of a
 * build is reported this long after its last line.
 */
export const readerLagMs = 2_500;
