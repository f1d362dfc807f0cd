// Rules for what differs between two runs of a case besides names: what is random, and what other cases have made. Pure.
import { AT_LEAST, IN_ANY_ORDER } from "../cf-traffic/match.ts";
import type { Template } from "../cf-traffic/traffic.ts";
import { GROUND_NAMES, OWN } from "./replay-file.ts";
import { namesIn, type CaseExchange } from "./templates.ts";

type Fields = Readonly<Record<string, Template>>;

/** The platform's own; those of cases are behind them, in the order in which they come. */
const OWN_BUILDPACKS = 9;
const RANDOM_TASK = /^[0-9a-f]{8}$/;

/** Texts with `<text>` where they are random. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  // A random route: two words and two characters.
  [new RegExp(`${OWN}((?:-[a-z])?)-[a-z]+-[a-z]+-[a-z0-9]{2}(?![a-z0-9])`, "g"), `${OWN}$1-<text>`],
  [/APP\/TASK\/[0-9a-f]{8}(?![0-9a-f])/g, "APP/TASK/<text>"],
  [/none of the buildpacks .*$/g, "none of the buildpacks <text>"],
];

/** Members of answers that are random, or depend on what else there is. */
export function maskAnswer(value: Template): Template {
  if (typeof value === "string") return TEXTS.reduce((text, [pattern, as]) => text.replaceAll(pattern, as), value);
  if (Array.isArray(value)) return (value as readonly Template[]).map(maskAnswer);
  if (typeof value !== "object" || value === null) return value;
  const masked = Object.fromEntries(
    Object.entries(value).map(([key, one]: [string, Template]) => [key, maskAnswer(one)]),
  );
  return { ...masked, ...maskMember(masked) };
}

function maskMember({ name, position, locked, sequence_id, data, links }: Fields): Fields {
  if (position !== undefined && locked !== undefined)
    return String(name).startsWith(OWN) && Number(position) <= OWN_BUILDPACKS ? {} : { position: "<number>" };
  if (sequence_id !== undefined && RANDOM_TASK.test(String(name))) return { name: "<text>" };
  // A relationship to many.
  if (Array.isArray(data) && links !== undefined) return { data: { [IN_ANY_ORDER]: data } };
  return {};
}

/**
 * Cuts what other cases have made out of questions for several objects, and the answers with it; a question for such an object alone goes.
 * @param otherNames by which other cases call what they make
 */
export function withoutOthers(exchanges: readonly CaseExchange[], otherNames: readonly string[]): CaseExchange[] {
  const pattern = new RegExp(`(?<![A-Za-z0-9-])(${otherNames.map((name) => RegExp.escape(name)).join("|")})(?![0-9])`);
  const isOther = (text: string): boolean => otherNames.length > 0 && pattern.test(text);
  const { others, strangers } = namesOfOthers(exchanges, isOther);
  return exchanges
    .map((one) => {
      const { body, path: whole } = one.request;
      const path = whole.replaceAll(/(?<=[?&]\w+=)[^&]+/g, (list) => cutList(list.split("%2C"), others).join("%2C"));
      const answer = { ...one.answer, body: cutData(one.answer.body, others) };
      return {
        ...one,
        request: { ...one.request, path, ...(body !== undefined && { body: cutData(body, others) }) },
        answer: path === whole ? answer : { ...answer, body: cutResources(answer.body, others) },
      };
    })
    .filter(({ request }) => !namesIn(request).some((name) => strangers.has(name)));
}

interface NamesOfOthers {
  /** Given by members of lists that say nothing of the case. */
  others: ReadonlySet<string>;
  /** Those of them that other cases have made. */
  strangers: ReadonlySet<string>;
}

function namesOfOthers(exchanges: readonly CaseExchange[], isOther: (text: string) => boolean): NamesOfOthers {
  const known = new Set<string>(Object.values(GROUND_NAMES));
  const [ownNames, others, strangers] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const isOwn = (value: unknown): boolean =>
    JSON.stringify(value).includes(OWN) || namesIn(value).some((name) => ownNames.has(name));
  for (const { request, answer } of exchanges) {
    const isRead = request.method === "GET" && !isOwn(request);
    for (const part of isRead ? membersIn(answer.body) : [answer.body]) {
      const given = namesIn(part).filter((name) => !known.has(name));
      const isOfOthers = isRead && !isOwn(part);
      given.forEach((name) => known.add(name));
      given.forEach((name) => (isOfOthers ? others : ownNames).add(name));
      if (isOfOthers && isOther(JSON.stringify(part))) given.forEach((name) => strangers.add(name));
    }
  }
  return { others, strangers };
}

function membersIn(body: Template): readonly Template[] {
  const { resources } = (body ?? {}) as Fields;
  if (Array.isArray(resources)) return resources as readonly Template[];
  const masked = (resources as Fields | undefined)?.[IN_ANY_ORDER];
  return Array.isArray(masked) ? (masked as readonly Template[]) : [body];
}

/** As it is when nothing would be left. */
function cutList<T>(list: readonly T[], others: ReadonlySet<string>): readonly T[] {
  const left = list.filter((one) => !namesIn(one).some((name) => others.has(name)));
  return left.length === 0 ? list : left;
}

/** Cuts relationships to many. */
function cutData(value: Template, others: ReadonlySet<string>): Template {
  if (Array.isArray(value)) return (value as readonly Template[]).map((one) => cutData(one, others));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]: [string, Template]) => [
      key,
      key === "data" && Array.isArray(member)
        ? cutList(member as readonly Template[], others)
        : cutData(member, others),
    ]),
  );
}

function cutResources(body: Template, others: ReadonlySet<string>): Template {
  const { resources, pagination, ...rest } = (body ?? {}) as Fields;
  if (resources === undefined || pagination === undefined) return body;
  const own = membersIn(body).filter((one) => !namesIn(one).some((name) => others.has(name)));
  return { ...rest, pagination: "<any>", resources: { [AT_LEAST]: own } };
}
