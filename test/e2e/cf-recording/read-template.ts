// Compared parts of an answer to a read: all of it, where nothing but requests changes it; elsewhere its members, and what later requests need.
import { ANY, AT_LEAST, IN_ANY_ORDER } from "../cf-traffic/match.ts";
import type { Template } from "../cf-traffic/traffic.ts";
import { GROUND_NAMES, OWN } from "./replay-file.ts";
import { namesIn, type CaseExchange } from "./templates.ts";

/** Reads of what changes by itself, or is as the machine is. */
const MOVING = [
  /^\/api\/v1\//,
  /\/stats$/,
  /^\/v3\/processes$/,
  /\/revisions(\/|$)/,
  /^\/v3\/(audit_events|app_usage_events|service_usage_events)/,
  /usage_summary$/,
  /^\/v3\/info$/,
  /^\/whoami$/,
  /^\/$/,
];

/** States that others follow by themselves. */
const MOVING_STATES = new Set([
  "STAGING",
  "PENDING",
  "PROCESSING",
  "PROCESSING_UPLOAD",
  "COPYING",
  "DEPLOYING",
  "CANCELING",
  "STARTING",
  "DOWN",
  "CRASHED",
]);
const STATE_MEMBERS = new Set(["state", "value", "reason"]);

/** Members by which one of a list is told from the others. */
const TELLING = new Set(["guid", "name", "type", "host", "url", "version", "index", "username", "path"]);

/** Members with members that people name. */
const FREE = new Set(["labels", "annotations"]);

interface Names {
  /** Those that later requests take from this answer. */
  gives: ReadonlySet<string>;
  /** Those of answers before. */
  known: ReadonlySet<string>;
}

export function readTemplate({ request, answer }: CaseExchange, names: Names): Template {
  const path = request.path.split("?")[0] ?? "";
  const body = withPlainList(answer.body);
  if (typeof body !== "object" || body === null) return isCompared(path, String(body)) ? body : ANY;
  if (isRunning(path, body)) return runningInstance(body);
  const isMoving = isOfMoving(path, body);
  const members = (value: Template): Template => (isMoving ? membersOnly(value, names.gives) : value);
  if (!isList(body)) return members(body);
  return isMoving || !isOwn(request.path, names)
    ? listOfSome(body, members, names)
    : listOfAll(body, members, request.path.includes("order_by="));
}

function isOfMoving(path: string, body: Template): boolean {
  return MOVING.some((pattern) => pattern.test(path)) || hasMovingState(body) || isRunningTask(path, body);
}

type ToTemplate = (value: Template) => Template;

function listOfAll(body: ListBody, members: ToTemplate, isOrdered: boolean): Template {
  const resources = body.resources.map(members);
  return { ...body, resources: isOrdered ? resources : { [IN_ANY_ORDER]: resources } };
}

/** Another case may be in it, too, or more than there was. */
function listOfSome(body: ListBody, members: ToTemplate, names: Names): Template {
  const own = body.resources.filter((one) => isOwn(JSON.stringify(one), names) || isAnyOf(names.gives, one));
  // Some case may change what all have.
  const all = body.resources.filter((one) => !own.includes(one) && isGround(one));
  const least = [...own.map((one) => withMoreData(members(one))), ...all.map((one) => membersOnly(one, names.gives))];
  const rest = Object.fromEntries(Object.keys(body).map((key) => [key, ANY]));
  return { ...rest, resources: { [AT_LEAST]: least } };
}

function isOwn(text: string, names: Names): boolean {
  return text.includes(OWN) || namesIn(text).some((name) => isOfCase(name, names));
}

/** The stats of instances that run. */
function isRunning(path: string, body: Template): body is { resources: readonly Fields[] } {
  if (!path.endsWith("/stats")) return false;
  const { resources } = body as { resources: Template };
  const states = Array.isArray(resources) ? (resources as readonly Fields[]).map(({ state }) => state) : [];
  return states.length > 0 && states.every((state) => state === "RUNNING");
}

/** How many there are is a matter of time while others start; that one runs was waited for. */
function runningInstance({ resources: [first] }: { resources: readonly Fields[] }): Template {
  const { type = ANY } = first ?? {};
  const running = Object.fromEntries(Object.keys(first ?? {}).map((key) => [key, ANY]));
  return { resources: { [AT_LEAST]: [{ ...running, type, state: "RUNNING" }] } };
}

/** A list that was masked as one without an order. */
function withPlainList(body: Template): Template {
  const { resources } = (body ?? {}) as { resources?: Readonly<Record<string, Template>> };
  return resources?.[IN_ANY_ORDER] === undefined ? body : { ...(body as object), resources: resources[IN_ANY_ORDER] };
}

function isAnyOf(wanted: ReadonlySet<string>, value: Template): boolean {
  return namesIn(value).some((name) => wanted.has(name));
}

/** Is what all cases find. */
function isGround(value: Template): boolean {
  const guid = String((value as { guid?: Template }).guid).replaceAll(/[<>]/g, "");
  return Object.values<string>(GROUND_NAMES).includes(guid);
}

function isOfCase(name: string, { known }: Names): boolean {
  const [kind, number] = name.split("-");
  return known.has(name) && (kind !== "guid" || Number(number) > 4);
}

/** Whether a body that is no JSON is compared. */
function isCompared(path: string, body: string): boolean {
  return body.startsWith("<bytes-") || path.endsWith("/manifest");
}

type Fields = Readonly<Record<string, Template>>;

interface ListBody {
  readonly pagination: Template;
  readonly resources: readonly Template[];
  readonly [member: string]: Template;
}

function isList(body: Template): body is ListBody {
  return typeof body === "object" && body !== null && "pagination" in body && Array.isArray(body["resources"]);
}

function hasMovingState(value: Template): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, member]: [string, Template]) =>
      (STATE_MEMBERS.has(key) && MOVING_STATES.has(String(member))) || hasMovingState(member),
  );
}

/** A task may end before it is read. */
function isRunningTask(path: string, body: Template): boolean {
  return /\/tasks(\/|$)/.test(path) && JSON.stringify(body).includes('"state":"RUNNING"');
}

/** Relationships to many may have more. */
function withMoreData(value: Template): Template {
  if (Array.isArray(value)) return (value as readonly Template[]).map(withMoreData);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]: [string, Template]) => [
      key,
      key === "data" && Array.isArray(one) ? { [AT_LEAST]: one as readonly Template[] } : withMoreData(one),
    ]),
  );
}

/** Any values, but for names that later requests use, and for what tells one of several from the others. */
function membersOnly(value: Template, gives: ReadonlySet<string>, key = ""): Template {
  if (FREE.has(key)) return ANY;
  if (Array.isArray(value)) {
    const members = value as readonly Template[];
    // Texts that withoutOthers has cut.
    if (key === AT_LEAST) return members.map((one) => membersOnly(one, gives));
    return isAnyOf(gives, value) ? { [AT_LEAST]: members.map((one) => membersOnly(one, gives)) } : ANY;
  }
  if (typeof value !== "object" || value === null) return isAnyOf(gives, value) || isTelling(key, value) ? value : ANY;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, Template]) => [name, membersOnly(member, gives, name)]),
  );
}

function isTelling(key: string, value: Template): boolean {
  return TELLING.has(key) && typeof value === "string" && !/<(time|number)>/.test(value);
}
