// GUIDs: how they are made, read from objects and compared.
import { hash, randomBytes } from "node:crypto";
import type { KubeObject } from "../kube/api/object.ts";
import { STABLE_LABELS } from "./labels.ts";
import { createdTimeOf, originalUidOf } from "./origin.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A UUIDv7: it sorts by creation time, even within one second. */
export function newGUID(now: number = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return formatUUID(bytes);
}

/** A stable GUID: equal parts always give the same one. For things that are not objects: roles, destinations, users. */
export function deriveGUID(...parts: readonly string[]): string {
  const bytes = hash("sha256", parts.join("\u0000"), "buffer").subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return formatUUID(bytes);
}

/**
 * The GUID of an event that several processes may record: it sorts by time, and equal parts give equal `eventIdentity`, whatever the time.
 */
export function eventGUID(now: number, ...parts: readonly string[]): string {
  const time = Buffer.alloc(6);
  time.writeUIntBE(now, 0, 6);
  return `${formatUUID(time).slice(0, EVENT_TIME_LENGTH)}${deriveGUID(...parts).slice(EVENT_TIME_LENGTH)}`;
}
/** Characters of an event's GUID that say its time. */
const EVENT_TIME_LENGTH = 14;

/** The common part of all GUIDs of an event. A GUID that `eventGUID` did not make is its own identity. */
export function eventIdentity(guid: string): string {
  return guid[EVENT_TIME_LENGTH] === "8" ? guid.slice(EVENT_TIME_LENGTH) : guid;
}

function formatUUID(bytes: Buffer): string {
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Is this text a GUID in canonical form? */
export function isGUID(text: string): boolean {
  return UUID.test(text);
}

/** The GUID of an object: its label, or its uid until the first reconcile writes the label. */
export function guidOf(object: KubeObject): string {
  return labelledGUIDOf(object) ?? object.metadata.uid ?? "";
}

function labelledGUIDOf({ metadata }: KubeObject): string | undefined {
  const label = metadata.labels?.[STABLE_LABELS.guid];
  return label && isGUID(label) ? label : undefined;
}

/** Largest difference between the clocks of an API replica and of kube-apiserver. A GUID may be used for that long after it was made. */
export const FRESH_SECONDS = 300;

/** Whether an object has the GUID of an earlier one, as from a backup: neither its uid, nor a GUID that was made with it. */
export function isRestored(object: KubeObject): boolean {
  const { uid, creationTimestamp = "" } = object.metadata;
  const guid = guidOf(object);
  if (guid === uid) return false;
  const madeMs = Number.parseInt(guid.slice(0, 8) + guid.slice(9, 13), 16);
  return guid[14] !== "7" || !(Math.abs(Date.parse(creationTimestamp) - madeMs) <= FRESH_SECONDS * 1000);
}

/** Which of two objects keeps their common GUID: the older one, or in the same second the one with the smaller uid. */
export function pickGUIDHolder(one: KubeObject, other: KubeObject): KubeObject {
  return ageSortKey(one) <= ageSortKey(other) ? one : other;
}

/** Sort key for age where it decides a conflict: creation, then uid. Not GUID, which the creator may choose. */
export function ageSortKey({ metadata: { creationTimestamp = "", uid = "" } }: KubeObject): string {
  return `${creationTimestamp} ${uid}`;
}

/** Sort key of CF lists: creation, then GUID. An imported object without a GUID of its own, as a web process is, keeps the place of its original. */
export function creationSortKey(object: KubeObject): string {
  return `${createdTimeOf(object) ?? ""} ${labelledGUIDOf(object) ?? originalUidOf(object)}`;
}
