// String formats that a CRD's schema may ask for, each as strict as kube-apiserver. Formats it does not know are ignored.
import { isIP } from "node:net";
import { namedFormats } from "../../../kube/cel/functions/formats.ts";
import { parseUrl } from "../../../kube/cel/functions/urls.ts";
import { parseDuration } from "../../../kube/cel/time.ts";

const matches = (pattern: RegExp) => (value: string) => pattern.test(value);
const named = (name: string) => (value: string) => {
  const format = namedFormats[name];
  return value.length <= (format?.most ?? Infinity) && (format?.pattern?.test(value) ?? format?.test?.(value) ?? true);
};

function isCidr(value: string): boolean {
  const [address = "", bits = ""] = value.split("/");
  const most = { 4: 32, 6: 128 }[isIP(address)];
  return most !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

/** Go's time.ParseDuration, or the Scala form `2 weeks`. */
function isDuration(value: string): boolean {
  return (
    parseDuration(value) !== undefined ||
    /^(\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+$/.test(
      value,
    )
  );
}

function isDate(value: string): boolean {
  const date = /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(`${value}T00:00:00Z`) : undefined;
  return date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value); // not the 31st of February
}

function isDateTime(value: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/i.test(value) &&
    !Number.isNaN(Date.parse(value.replace(" ", "T")))
  );
}

const label = "[\\p{S}\\p{L}0-9]([-\\p{S}\\p{L}0-9]{0,61}[\\p{S}\\p{L}0-9])?";
const hostname = new RegExp(`^(${label}|(${label}\\.)+[\\p{L}]{2,63})$`, "u");

/** A label, or several that end in one of two letters or more. */
function isHostname(value: string): boolean {
  return value.length <= 255 && hostname.test(value);
}

const uuid = (version: string, variant: string) =>
  matches(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, "i"));

const formats: Record<string, (value: string) => boolean> = {
  uri: (value) => parseUrl(value) !== undefined,
  email: matches(/^(?:[^<>@\s]+|.*<[^<>@\s]+)@[^<>@\s]+>?$/),
  hostname: isHostname,
  ipv4: (value) => isIP(value) === 4,
  ipv6: (value) => isIP(value) === 6,
  cidr: isCidr,
  mac: matches(/^([0-9a-f]{2}[:-]){5}([0-9a-f]{2}[:-]?){1}$|^([0-9a-f]{4}\.){2}[0-9a-f]{4}$/i),
  uuid: uuid("[0-9a-f]", "[0-9a-f]"),
  uuid3: uuid("3", "[0-9a-f]"),
  uuid4: uuid("4", "[89ab]"),
  uuid5: uuid("5", "[89ab]"),
  byte: matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  "date-time": isDateTime,
  hexcolor: matches(/^#?([0-9a-f]{3}|[0-9a-f]{6})$/i),
  "k8s-short-name": named("dns1123Label"),
  "k8s-long-name": named("dns1123Subdomain"),
};

/** Whether a string has the format; true for formats that are not checked. */
export function hasFormat(format: string, value: string): boolean {
  const check = Object.hasOwn(formats, format) ? formats[format] : undefined;
  return check ? check(value) : true;
}
