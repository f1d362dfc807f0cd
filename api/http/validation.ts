// Translates zod's issues into CF's wording. One request's problems become one detail, joined with ", ".
import type { z } from "zod";
import { isBlank } from "./blank.ts";
import { CFError } from "./errors.ts";

type Issue = z.core.$ZodIssue;

/**
 * The attribute's name in CF's wording: `health_check.data.timeout` is `Health check timeout`, `lifecycle.data.stack` is `Lifecycle Stack`.
 * Omits list indexes, `data` wrappers and comparison operators.
 */
function humanize(path: readonly PropertyKey[]): string {
  if (path[0] === "metadata" && path.length > 1) return "Metadata";
  const words = path.filter((part) => typeof part !== "number").map((part) => String(part).replace(/\[\w+\]$/, ""));
  if (words[0] === "lifecycle" && words[1] === "data" && words.length > 2)
    return `Lifecycle ${capitalize(words.slice(2).join(" "))}`;
  if (isNamedPartByPart(words) || words.join(".") === "data.image") return words.map(capitalize).join(" ");
  const named = words.filter((word, at) => word !== "data" || at === words.length - 1);
  return capitalize(named.join(" "));
}

/** Limits of a quota, options of a route: CF validates each group of them as an object of its own. */
function isNamedPartByPart([group = "", ...rest]: readonly string[]): boolean {
  return rest.length > 0 && ["apps", "services", "routes", "domains", "options"].includes(group);
}

function capitalize(words: string): string {
  const text = words.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Bound of the names in one problem, and of the problems in one answer: a client may send thousands of wrong members. */
const MOST_SHOWN = 100;

function quotedList(names: readonly string[], separator = ", "): string {
  const shown = names.slice(0, MOST_SHOWN).map((name) => `'${name}'`);
  return [...shown, ...(names.length > MOST_SHOWN ? [`and ${names.length - MOST_SHOWN} more`] : [])].join(separator);
}

/** Refusals of a value of another type, by the expected type. */
const typeProblems: Record<string, string> = {
  string: "must be a string",
  number: "is not a number",
  int: "must be an integer",
  boolean: "must be a boolean",
  object: "must be an object",
  record: "must be an object",
  array: "must be an array",
};

type SizeIssue = Extract<Issue, { code: "too_big" | "too_small" }>;

function sizeProblem(issue: SizeIssue): string {
  const bound = issue.code === "too_big" ? issue.maximum : issue.minimum;
  return issue.code === "too_big"
    ? tooBig(issue.origin, bound, issue.inclusive !== false)
    : tooSmall(issue.origin, bound, issue.inclusive !== false);
}

function tooBig(origin: string, bound: number | bigint, inclusive: boolean): string {
  if (origin === "string") return `is too long (maximum is ${bound} characters)`;
  if (origin === "array") return `must have at most ${bound} items`;
  return `must be less than ${inclusive ? "or equal to " : ""}${bound}`;
}

function tooSmall(origin: string, bound: number | bigint, inclusive: boolean): string {
  if (origin === "string")
    return Number(bound) === 1 ? "can't be blank" : `is too short (minimum is ${bound} characters)`;
  if (origin === "array") return `must have at least ${bound} item(s)`;
  return `must be greater than ${inclusive ? "or equal to " : ""}${bound}`;
}

/** Whether zod generated the message, rather than the schema's author. */
function isDefault(message: string): boolean {
  return /^(?:Invalid|Too (?:big|small)|Unrecognized)\b/.test(message);
}

/** Describes one value's problem, without the attribute's name. */
export function describeProblem(issue: Issue): string {
  if (!isDefault(issue.message)) return issue.message;
  if (issue.code === "invalid_type")
    return issue.input === undefined && issue.expected !== "boolean"
      ? "can't be blank"
      : (typeProblems[issue.expected] ?? `must be ${issue.expected}`);
  if (issue.code === "too_big" || issue.code === "too_small") return sizeProblem(issue);
  return issue.code === "invalid_value" ? `must be one of ${quotedList(issue.values.map(String))}` : "is invalid";
}

/** CF words problems of relationships differently. */
function relationshipProblems(issue: Issue): string[] | undefined {
  const [root, name, ...rest] = issue.path;
  if (root !== "relationships") return undefined;
  if (name === undefined)
    return issue.code === "unrecognized_keys"
      ? [`Relationships Unknown field(s): ${quotedList(issue.keys)}`]
      : ["Relationships 'relationships' is not an object"];
  const label = `Relationships ${humanize([name])}`;
  if (rest.join(".") === "data.guid" && issue.input !== undefined) {
    const bounds = `${label} guid must be between 1 and 200 characters`;
    return issue.code === "invalid_type" ? [`${label} guid must be a string`, bounds] : [bounds];
  }
  const structure = `${label} must be structured like this: ${structureOf(String(name))}`;
  return rest.length === 0 && !isToMany(String(name)) && isBlank(issue.input)
    ? [`${label} can't be blank`, structure]
    : [structure];
}

/** A relationship to many has a plural's name. */
function isToMany(name: string): boolean {
  return name.endsWith("s");
}

function structureOf(name: string): string {
  const one = '{"guid": "valid-guid"}';
  return `"${name}: {"data": ${isToMany(name) ? `[${one},${one}]` : one}}"`;
}

/** CF names a route's destinations by their position. */
function destinationProblem(issue: Issue): string | undefined {
  const [root, at, part, ...rest] = issue.path;
  if (root !== "destinations" || typeof at !== "number") return undefined;
  return `Destinations[${at}]: ${problemInDestination(issue, part, rest)}`;
}

function problemInDestination(issue: Issue, part: PropertyKey | undefined, rest: readonly PropertyKey[]): string {
  if (part === undefined)
    return issue.code === "unrecognized_keys"
      ? 'must have only "app" and optionally "weight", "port" or "protocol".'
      : "must be an object.";
  if (part !== "app") return `${String(part)} ${describeProblem(issue)}.`;
  if (rest[0] === "process") return 'process must have the structure {"type": "process_type"}';
  const isMissing = rest.length === 0 && issue.code === "invalid_type" && issue.input === undefined;
  return isMissing ? 'must have an "app".' : 'app must have the structure {"guid": "app_guid"}';
}

function unknownFields(issue: Issue & { code: "unrecognized_keys" }): string {
  const [root, ...rest] = issue.path.map(String);
  if (root === "metadata") return `Metadata has unexpected field(s): ${quotedList(issue.keys, " ")}`;
  const isLifecycleData = root === "lifecycle" && rest[0] === "data";
  const isNamed = isLifecycleData || isNamedPartByPart([root ?? "", "any"]);
  const part = isLifecycleData ? "Lifecycle" : humanize(issue.path);
  return `${isNamed ? `${part} ` : ""}Unknown field(s): ${quotedList(issue.keys)}`;
}

function describe(issue: Issue): string[] {
  if (issue.code === "custom" && (issue.params as { whole?: boolean } | undefined)?.whole) return [issue.message];
  const relationship = relationshipProblems(issue);
  if (relationship) return relationship;
  const destination = destinationProblem(issue);
  if (destination !== undefined) return [destination];
  if (issue.code === "unrecognized_keys") return [unknownFields(issue)];
  return [issue.path.length === 0 ? issue.message : `${humanize(issue.path)} ${describeProblem(issue)}`];
}

/** All problems of one parse in CF's wording, without duplicates. */
export function describeIssues(error: z.ZodError, body?: unknown): string[] {
  const isEmpty = hasEmptyRelationships(body);
  const noRelationship = ["Relationships 'relationships' must include one or more valid relationships"];
  const problems = new Set<string>();
  for (const issue of withoutBoundsOfOtherTypes(error.issues)) {
    const described = isEmpty && issue.path[0] === "relationships" ? noRelationship : describe(issue);
    for (const problem of described) problems.add(problem);
    if (problems.size >= MOST_SHOWN) break;
  }
  return [...problems];
}

/** Leaves out what zod says of the length of a list where no list was expected. */
function withoutBoundsOfOtherTypes(issues: readonly Issue[]): readonly Issue[] {
  const ofOtherType = new Set(
    issues.filter(({ code }) => code === "invalid_type").map(({ path }) => path.map(String).join("\n")),
  );
  const isBound = ({ code }: Issue): boolean => code === "too_big" || code === "too_small";
  return issues.filter((issue) => !isBound(issue) || !ofOtherType.has(issue.path.map(String).join("\n")));
}

function hasEmptyRelationships(body: unknown): boolean {
  const relationships = (body as { relationships?: unknown } | null | undefined)?.relationships;
  return (
    typeof relationships === "object" &&
    relationships !== null &&
    !Array.isArray(relationships) &&
    Object.keys(relationships).length === 0
  );
}

/** Parses a body by its schema. @throws CFError UnprocessableEntity, or BadRequest where CF does that */
export function parseBody<T extends z.ZodType>(
  schema: T,
  body: unknown,
  key: "BadRequest" | "UnprocessableEntity" = "UnprocessableEntity",
): z.output<T> {
  const parsed = schema.safeParse(body, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new CFError(key, describeIssues(parsed.error, body).join(", "), { cause: parsed.error });
}

function describeQuery(schema: z.ZodObject, issue: Issue): string[] {
  if (issue.code !== "unrecognized_keys") return describe(issue);
  const [, time, operator] = /^(created_ats|updated_ats)\[(.*)\]$/.exec(issue.keys[0] ?? "") ?? [];
  if (time !== undefined && time in schema.shape)
    return [`${humanize([time])} Invalid relational operator: '${operator ?? ""}'`];
  const valid = Object.keys(schema.shape).filter((name) => !name.includes("["));
  return [`Unknown query parameter(s): ${quotedList(issue.keys)}. Valid parameters are: ${quotedList(valid)}`];
}

/** Parses a query by its schema. @throws CFError BadQueryParameter, or UnprocessableEntity where CF does that. */
export function parseQuery<T extends z.ZodObject>(
  schema: T,
  query: Record<string, string>,
  key: "BadQueryParameter" | "UnprocessableEntity",
): z.output<T> {
  const parsed = schema.safeParse(query, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => describeQuery(schema, issue));
  throw new CFError(key, [...new Set(problems)].join(", "), { cause: parsed.error });
}
