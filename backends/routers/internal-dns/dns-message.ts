// Questions and answers of DNS on the wire (RFC 1035): one question each, and answers that are addresses. Pure.
// docs/dependencies.md says why this is no library.
import { isIPv4 } from "node:net";

export const RCODES = { noError: 0, formatError: 1, serverFailure: 2, nameError: 3, notImplemented: 4, refused: 5 };
export type Rcode = (typeof RCODES)[keyof typeof RCODES];

export interface DNSQuestion {
  id: number;
  /** In lower case, without a dot at its end. */
  name: string;
  type: number;
  class: number;
  /** Header bits that an answer repeats: opcode and "recursion desired". */
  flags: number;
  /** The question as it came, which an answer repeats. */
  raw: Buffer;
}

export interface DNSAnswer {
  rcode: Rcode;
  /** Addresses of the family that was asked for. */
  addresses: readonly string[];
  /** The zone of the name, for those who keep in mind that there is no such name. */
  zone?: string | undefined;
}

export const TYPE_A = 1;
export const TYPE_AAAA = 28;
export const TYPE_ANY = 255;
const TYPE_SOA = 6;
export const CLASS_IN = 1;

/** How long an answer may be kept, in seconds. */
const TTL = 5;
const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
const OPCODE_MASK = 0x7800;
const RECURSION_DESIRED = 0x0100;
const IS_RESPONSE = 0x8000;
const AUTHORITATIVE = 0x0400;
const TRUNCATED = 0x0200;
/** Points at the name of the question. */
const QUESTION_POINTER = 0xc000 | HEADER_BYTES;

/** A malformed question: `id` and `flags` for the answer that says so. */
export interface MalformedQuestion {
  id: number;
  flags: number;
  malformed: true;
}

/** Undefined for a message that gets no answer: too short, or an answer itself. */
export function readQuestion(message: Buffer): DNSQuestion | MalformedQuestion | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const header = message.readUInt16BE(2);
  if (header & IS_RESPONSE) return undefined;
  const base = { id: message.readUInt16BE(0), flags: header & (OPCODE_MASK | RECURSION_DESIRED) };
  const name = message.readUInt16BE(4) === 1 ? readName(message, HEADER_BYTES) : undefined;
  if (!name || message.length < name.end + 4) return { ...base, malformed: true };
  return {
    ...base,
    name: name.text,
    type: message.readUInt16BE(name.end),
    class: message.readUInt16BE(name.end + 2),
    raw: message.subarray(HEADER_BYTES, name.end + 4),
  };
}

/** A name without pointers, which questions never have. */
function readName(message: Buffer, from: number): { text: string; end: number } | undefined {
  const labels: string[] = [];
  let at = from;
  while (at < message.length && at - from <= MAX_NAME_BYTES) {
    const length = message[at] ?? 0;
    if (length === 0) return { text: labels.join(".").toLowerCase(), end: at + 1 };
    if (length > 63 || at + 1 + length > message.length) return undefined;
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return undefined;
}

export function isQuery({ flags }: DNSQuestion): boolean {
  return (flags & OPCODE_MASK) === 0;
}

/** @param maxBytes what the transport carries; an answer that is longer has the records that fit, and says that it is truncated */
export function writeAnswer(question: DNSQuestion, { rcode, addresses, zone }: DNSAnswer, maxBytes: number): Buffer {
  const records = addresses.map((address) =>
    toRecord(QUESTION_POINTER_BYTES, toAddressType(address), toBytes(address)),
  );
  const authority = addresses.length === 0 && zone !== undefined ? [toSOA(zone)] : [];
  const room = maxBytes - HEADER_BYTES - question.raw.length;
  const parts = { records: takeFitting(records, room), authority: takeFitting(authority, room) };
  const isTruncated = parts.records.length < records.length || parts.authority.length < authority.length;
  return toMessage(question, { rcode, ...parts, isTruncated });
}

/** The first records that fit in so many bytes. */
function takeFitting(records: readonly Buffer[], maxBytes: number): readonly Buffer[] {
  let bytes = 0;
  const end = records.findIndex(({ length }) => (bytes += length) > maxBytes);
  return end === -1 ? records : records.slice(0, end);
}

/** For a question that cannot be read. */
export function writeFormatError({ id, flags }: MalformedQuestion): Buffer {
  return toHeader({ id, flags: IS_RESPONSE | flags | RCODES.formatError, counts: [0, 0, 0] });
}

interface MessageParts {
  rcode: Rcode;
  records: readonly Buffer[];
  authority: readonly Buffer[];
  isTruncated: boolean;
}

function toMessage(question: DNSQuestion, { rcode, records, authority, isTruncated }: MessageParts): Buffer {
  const isOurs = rcode === RCODES.noError || rcode === RCODES.nameError;
  const flags = IS_RESPONSE | question.flags | (isOurs ? AUTHORITATIVE : 0) | (isTruncated ? TRUNCATED : 0) | rcode;
  const header = toHeader({ id: question.id, flags, counts: [1, records.length, authority.length] });
  return Buffer.concat([header, question.raw, ...records, ...authority]);
}

function toHeader({ id, flags, counts }: { id: number; flags: number; counts: readonly number[] }): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(flags, 2);
  for (const [at, count] of counts.entries()) header.writeUInt16BE(count, 4 + 2 * at);
  return header;
}

const QUESTION_POINTER_BYTES = Buffer.from([QUESTION_POINTER >> 8, QUESTION_POINTER & 0xff]);

function toRecord(name: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(CLASS_IN, 2);
  fixed.writeUInt32BE(TTL, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([name, fixed, data]);
}

/** Its last number says how long a missing name may be kept in mind. */
function toSOA(zone: string): Buffer {
  const numbers = Buffer.alloc(20);
  for (const [at, value] of [1, 3600, 600, 86_400, TTL].entries()) numbers.writeUInt32BE(value, 4 * at);
  return toRecord(toName(zone), TYPE_SOA, Buffer.concat([toName(`ns.${zone}`), toName(`hostmaster.${zone}`), numbers]));
}

function toName(text: string): Buffer {
  const labels = text.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

export function toAddressType(address: string): number {
  return isIPv4(address) ? TYPE_A : TYPE_AAAA;
}

function toBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const bytes = Buffer.alloc(16);
  const [head = "", tail] = address.split("::");
  const toGroups = (text: string): number[] => (text === "" ? [] : text.split(":").map((group) => parseInt(group, 16)));
  const [first, last] = [toGroups(head), toGroups(tail ?? "")];
  const groups = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
  for (const [at, group] of groups.entries()) bytes.writeUInt16BE(group, 2 * at);
  return bytes;
}
