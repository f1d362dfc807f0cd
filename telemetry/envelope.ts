// The shapes of logs and instance stats: entries that are written into a ring, and the Log Cache JSON that is read from it.

/** Where a line comes from, as `cf logs` shows it in brackets: staging, an app's process (`APP/PROC/WEB`), the router, the machine that runs it, the API. */
export type SourceType = "STG" | "RTR" | "CELL" | "API" | `APP/${string}`;

/** A line for the ring. */
export interface LogEntry {
  /** GUID of the app that the line belongs to. */
  source: string;
  sourceType: SourceType;
  /** One line without its line end; longer than 60 KiB is cut by the ring. */
  message: string;
  /** Default `OUT`. */
  stream?: "OUT" | "ERR";
  /** Instance index; default `"0"`. */
  instance?: string;
  /** Further Log Cache tags, such as process_id. Share one object between calls: it is kept by reference. */
  tags?: Record<string, string>;
  /** Nanoseconds since the epoch; now when absent. */
  time?: bigint;
}

/** One envelope as Log Cache's `/api/v1/read` presents it. Timestamps are nanoseconds in a string. */
export interface Envelope {
  timestamp: string;
  source_id: string;
  instance_id: string;
  tags: Record<string, string>;
  /** `payload` is base64. */
  log: { payload: string; type: "OUT" | "ERR" };
}

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
  /** `cpu` is in cores (1 = one core in full). `time` is RFC 3339. */
  usage: { time: string; cpu: number; mem: number; disk: number };
  details?: string;
}

/** Which instances to read: of one process, one app or one LRP. */
export interface StatsQuery {
  app?: string;
  process?: string;
  lrp?: string;
}

/** Gives the current stats of the instances that a runner holds. */
export type StatsProvider = (query: StatsQuery) => InstanceStats[] | Promise<InstanceStats[]>;

/** The most envelopes one read returns. */
export const maxReadLimit = 1000;

/**
 * Milliseconds until a reader has surely seen a line. `cf` reads log lines that are 2 s old, every 250 ms, and stops when a build has ended; so the end of a failed
 * build is reported this long after its last line.
 */
export const readerLagMs = 2_500;
