// Where two outcomes differ, as paths with both values.
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../kubernetes/api.ts";
import { describeStep, type Outcome, type Step } from "./step.ts";

export interface Deviation {
  path: string;
  embedded: Json;
  real: Json;
}

/** The first step of a sequence that was answered differently. */
export interface Difference {
  /** Index of the step in the sequence; beyond the last for what was left at the end. */
  at: number;
  step: Step;
  deviations: Deviation[];
  embedded: Outcome;
  real: Outcome;
}

const MOST = 12;

export function deviationsOf(embedded: Json, real: Json, path = ""): Deviation[] {
  if (isDeepStrictEqual(embedded, real)) return [];
  const both = [embedded, real];
  if (both.every(Array.isArray) && embedded.length === real.length)
    return embedded.flatMap((item: Json, at: number) => deviationsOf(item, real[at], `${path}[${at}]`)).slice(0, MOST);
  if (!both.every((value) => typeof value === "object" && value !== null && !Array.isArray(value)))
    return [{ path, embedded, real }];
  const keys = new Set([...Object.keys(embedded), ...Object.keys(real)]);
  return [...keys]
    .flatMap((key) => deviationsOf(embedded[key], real[key], path ? `${path}.${key}` : key))
    .slice(0, MOST);
}

/** Differences of one cause look alike in this: what was asked, and which fields differ. */
export function signatureOf({ step, deviations, embedded, real }: Difference): string {
  const paths = [...new Set(deviations.map(({ path }) => path.replaceAll(/\[\d+\]/g, "[]")))].slice(0, 3);
  const statuses =
    embedded.status === real.status ? String(real.status) : `${embedded.status} instead of ${real.status}`;
  return `${step.kind}${step.subresource ? `/${step.subresource}` : ""} ${step.patch ?? step.verb}, ${statuses}: ${paths.join(" ")}`;
}

export function describeDifference({ at, step, deviations }: Difference): string {
  const shown = (value: Json) => (value === undefined ? "(absent)" : JSON.stringify(value));
  return [
    `step ${at}: ${describeStep(step)}`,
    ...deviations.map(
      ({ path, embedded, real }) =>
        `  ${path}\n    embedded       ${shown(embedded)}\n    kube-apiserver ${shown(real)}`,
    ),
  ].join("\n");
}
