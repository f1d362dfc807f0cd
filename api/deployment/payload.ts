// Request bodies and queries of deployments, with CF's words for what is wrong in them.
import { z } from "zod";
import { metadataSchema } from "../http/metadata.ts";
import { csv, listQuery } from "../http/query.ts";
import { blankAs, toOneSchema } from "../http/shared-schemas.ts";
import { shownAs } from "../http/shown-as.ts";
import { isRecord } from "../../kube/api/is-record.ts";

interface IssueContext {
  addIssue: (issue: { code: "custom"; message: string; params: { whole: true } }) => void;
}

const optionsSchema = z.object({
  max_in_flight: z.int().nullish(),
  web_instances: z.int().nullish(),
  memory_in_mb: z.int().nullish(),
  disk_in_mb: z.int().nullish(),
  log_rate_limit_in_bytes_per_second: z.int().nullish(),
  canary: z.object({ steps: z.array(z.object({ instance_weight: z.int() })).nullish() }).nullish(),
});

/** Bounds of the numbers; upper ones are those of the Rollout. */
const NUMBERS: Readonly<Record<string, { title: string; min: number; max: number; problem?: string }>> = {
  max_in_flight: { title: "Max in flight", min: 1, max: 10_000, problem: "must be an integer greater than 0" },
  web_instances: { title: "Web instances", min: 0, max: 10_000 },
  memory_in_mb: { title: "Memory in mb", min: 1, max: 4_194_304 },
  disk_in_mb: { title: "Disk in mb", min: 1, max: 4_194_304 },
  log_rate_limit_in_bytes_per_second: {
    title: "Log rate limit in bytes per second",
    min: -1,
    max: Number.MAX_SAFE_INTEGER,
  },
};

function findNumberProblem(name: string, value: unknown): string | undefined {
  const { title, min, max, problem } = NUMBERS[name] ?? { title: name, min: 0, max: 0 };
  const found = numberProblem(value, min, max);
  if (found === undefined) return undefined;
  return `${title} ${problem !== undefined && !(Number(value) > max) ? problem : found}`;
}

function numberProblem(value: unknown, min: number, max: number): string | undefined {
  if (typeof value !== "number") return "is not a number";
  if (!Number.isInteger(value)) return "must be an integer";
  if (value < min) return min === 1 ? "must be greater than 0" : `must be greater than or equal to ${min}`;
  return value > max ? `must be less than or equal to ${max}` : undefined;
}

function listUnsupported(given: Record<string, unknown>, known: readonly string[]): string | undefined {
  const others = Object.keys(given).filter((key) => !known.includes(key));
  return others.length > 0 ? `has unsupported key(s): ${others.join(", ")}` : undefined;
}

function* listOptionProblems(options: unknown): Generator<string> {
  if (!isRecord(options)) return yield "Options must be an object";
  const unsupported = listUnsupported(options, [...Object.keys(NUMBERS), "canary"]);
  if (unsupported !== undefined) yield `Options ${unsupported}`;
  const numbers = Object.keys(NUMBERS).filter((name) => isGiven(options[name]));
  yield* numbers.flatMap((name) => findNumberProblem(name, options[name]) ?? []);
  if (isGiven(options["canary"])) yield* listCanaryProblems(options["canary"]);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function* listCanaryProblems(canary: unknown): Generator<string> {
  if (!isRecord(canary)) yield "Options canary must be an object";
  else if (isGiven(canary["steps"])) yield* listStepProblems(canary["steps"]);
}

function* listStepProblems(steps: unknown): Generator<string> {
  const title = "Options canary steps";
  if (!Array.isArray(steps) || !steps.every(isRecord)) return yield `${title} must be an array of objects`;
  if (steps.length > 100) return yield `${title} must have at most 100 items`;
  const unsupported = steps.flatMap((step) => listUnsupported(step, ["instance_weight"]) ?? []);
  if (unsupported[0] !== undefined) yield `${title} ${unsupported[0]}`;
  if (steps.some((step) => !("instance_weight" in step))) yield `${title} missing key: "instance_weight"`;
  const weights = steps.map((step) => step["instance_weight"]);
  if (!weights.every(isWeight)) return yield `${title} instance weight must be an Integer between 1-100 (inclusive)`;
  if (weights.some((weight, at) => weight < (weights[at - 1] ?? 0)))
    yield `${title} instance weight must be sorted in ascending order`;
}

function isWeight(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100;
}

function checkOptions(options: unknown, context: IssueContext): void {
  for (const message of listOptionProblems(options))
    context.addIssue({ code: "custom", message, params: { whole: true } });
}

/** A client's object may have a `toString` that is no function. */
function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const reference = blankAs(z.strictObject({ guid: blankAs(z.string().max(255), undefined) }), undefined);

export const createDeploymentBody = z
  .strictObject({
    relationships: z.strictObject({ app: toOneSchema.optional() }).optional(),
    droplet: reference,
    revision: reference,
    strategy: shownAs(z.unknown(), z.enum(["rolling", "canary"])).optional(),
    options: shownAs(
      blankAs(z.unknown().superRefine(checkOptions).pipe(optionsSchema), undefined),
      optionsSchema,
    ).optional(),
    metadata: metadataSchema.optional(),
  })
  .superRefine((body, context) => {
    const whole = (message: string): void => context.addIssue({ code: "custom", message, params: { whole: true } });
    const { strategy } = body;
    if (strategy !== undefined && strategy !== null && strategy !== "rolling" && strategy !== "canary")
      whole(`Strategy '${toText(strategy).slice(0, 64)}' is not a supported deployment strategy`);
    if (body.droplet && body.revision) whole("Droplet Cannot set both fields 'droplet' and 'revision'");
    if (body.options?.canary && strategy !== "canary") whole("Options canary are only valid for Canary deployments");
  });
export type DeploymentInput = z.output<typeof createDeploymentBody>;

export const deploymentListQuery = listQuery({
  app_guids: csv.optional(),
  states: csv.optional(),
  status_reasons: csv.optional(),
  status_values: csv.optional(),
});

/** The fields of a Rollout's spec that the body sets. */
export function toRolloutSpec({ strategy, options }: DeploymentInput): Record<string, unknown> {
  const given = {
    maxInFlight: options?.max_in_flight,
    instances: options?.web_instances,
    memoryMB: options?.memory_in_mb,
    diskMB: options?.disk_in_mb,
    logRateLimitBytesPerSecond: options?.log_rate_limit_in_bytes_per_second,
    canarySteps: options?.canary?.steps?.map(({ instance_weight: instanceWeight }) => ({ instanceWeight })),
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
  return { strategy: strategy === "canary" ? "canary" : "rolling", ...Object.fromEntries(set) };
}
