// Log lines as RFC 5424 messages, as Cloud Foundry's syslog agent writes them. Pure.
import type { Envelope } from "../envelope.ts";

/** An app's names, for the host of its messages. */
export interface DrainedApp {
  guid: string;
  name: string;
  space: string;
  org: string;
}

/** user.info and user.err. */
const PRIORITY = { OUT: 14, ERR: 11 } as const;
/** Longest host of RFC 5424. */
const MAX_HOST = 255;
const MAX_APP_NAME = 48;
const MAX_PROCESS_ID = 128;
/** The structured data of Cloud Foundry, under its private enterprise number. */
const TAGS_ID = "tags@47450";

export interface MessageOptions {
  /** Without the tags of the envelope. */
  hasMetadata: boolean;
}

/** Ends in a line end, has no other frame. */
export function toSyslogMessage(envelope: Envelope, app: DrainedApp, { hasMetadata }: MessageOptions): Buffer {
  const { source_type: sourceType = "APP" } = envelope.tags;
  const header = [
    `<${PRIORITY[envelope.log.type]}>1`,
    toTimestamp(envelope.timestamp),
    toHost(app),
    toPrintable(app.guid, MAX_APP_NAME),
    toPrintable(`[${sourceType.toUpperCase()}/${envelope.instance_id}]`, MAX_PROCESS_ID),
    "-",
    hasMetadata ? toStructuredData({ ...tagsOf(app), ...envelope.tags }) : "-",
  ].join(" ");
  const payload = Buffer.from(envelope.log.payload, "base64").filter((byte) => byte !== 0);
  return Buffer.concat([Buffer.from(`${header} `), payload, Buffer.from("\n")]);
}

/** Not every runner tells whose a line is. */
function tagsOf({ guid, name, space, org }: DrainedApp): Record<string, string> {
  return { app_id: guid, app_name: name, space_name: space, organization_name: org };
}

/** Octet counting of RFC 6587: the length, a space, the message. */
export function toFrame(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
}

/** Microseconds, in UTC. */
function toTimestamp(nanoseconds: string): string {
  const micros = BigInt(nanoseconds) / 1000n;
  const seconds = new Date(Number(micros / 1000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000n).padStart(6, "0")}+00:00`;
}

/** `org.space.app`, each part in characters of a host. */
function toHost({ org, space, name }: DrainedApp): string {
  const part = (text: string): string =>
    text
      .replaceAll(/\s+/g, "-")
      .replaceAll(/[^A-Za-z0-9-]/g, "")
      .replaceAll(/^-+|-+$/g, "")
      .slice(0, 63);
  return [org, space, name].map(part).join(".").slice(0, MAX_HOST);
}

function toPrintable(text: string, length: number): string {
  return text.replaceAll(/[^\x21-\x7e]/g, "_").slice(0, length) || "-";
}

function toStructuredData(tags: Readonly<Record<string, string>>): string {
  const params = Object.entries(tags)
    .filter(([name]) => /^[\x21-\x7e]{1,32}$/.test(name) && !/[="\]]/.test(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ` ${name}="${value.replaceAll(/["\\\]]/g, String.raw`\$&`)}"`);
  return params.length > 0 ? `[${TAGS_ID}${params.join("")}]` : "-";
}
