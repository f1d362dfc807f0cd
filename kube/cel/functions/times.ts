// Getters of timestamps and durations.
import { nanosPerSecond } from "../time.ts";
import { CelError, type CelTime, type CelValue } from "../values.ts";
import { text, type Library } from "./library.ts";

const dayMs = 86_400_000;

/** The moment as if its local clock time in the zone were UTC, so that the UTC getters read local parts. */
function inZone(self: CelValue, zone: CelValue | undefined): Date {
  const ms = Number((self as CelTime).nanos / 1_000_000n);
  return new Date(ms + (zone === undefined ? 0 : offsetMs(ms, text(zone))));
}

function offsetMs(ms: number, zone: string): number {
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (fixed) return (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  try {
    const parts = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }).formatToParts(ms);
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    return (
      Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second")) -
      Math.floor(ms / 1000) * 1000
    );
  } catch (cause) {
    throw new CelError(`unknown time zone ${zone}`, { cause });
  }
}

const getter = (read: (date: Date) => number) => (self: CelValue, zone: CelValue | undefined) =>
  BigInt(read(inZone(self, zone)));

const dayOfYear = (date: Date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs);

const per = (unit: bigint) => (self: CelValue) => (self as CelTime).nanos / unit;

export const times: Library = {
  functions: {},
  methods: {
    "google.protobuf.Timestamp": {
      getFullYear: getter((date) => date.getUTCFullYear()),
      getMonth: getter((date) => date.getUTCMonth()),
      getDate: getter((date) => date.getUTCDate()),
      getDayOfMonth: getter((date) => date.getUTCDate() - 1),
      getDayOfWeek: getter((date) => date.getUTCDay()),
      getDayOfYear: getter(dayOfYear),
      getHours: getter((date) => date.getUTCHours()),
      getMinutes: getter((date) => date.getUTCMinutes()),
      getSeconds: getter((date) => date.getUTCSeconds()),
      getMilliseconds: getter((date) => date.getUTCMilliseconds()),
    },
    "google.protobuf.Duration": {
      getHours: per(3600n * nanosPerSecond),
      getMinutes: per(60n * nanosPerSecond),
      getSeconds: per(nanosPerSecond),
      getMilliseconds: per(1_000_000n),
    },
  },
};
