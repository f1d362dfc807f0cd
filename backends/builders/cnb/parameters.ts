// The settings of the class `cnb`, from `BackendClass.spec.parameters`. Pure.

import { InvalidImageName, parseImageName } from "../../../blobs/registry/image-name.ts";

export interface CnbParameters {
  /** Image with the lifecycle and the buildpacks. */
  builderImage: string;
  /** Base of the exported images; the builder image's own choice when absent. */
  runImage: string | undefined;
  /** Cupola's image: its first container fetches the package. */
  platformImage: string;
  /** Builds that run at the same time, in all spaces together. */
  concurrency: number;
}

export const DEFAULT_CONCURRENCY = 10;
const MAX_CONCURRENCY = 1000;

/** Name and meaning of each parameter, for messages and documents. */
export const CNB_PARAMETERS = {
  builderImage: "the builder image: lifecycle and buildpacks",
  runImage: "the base of the exported images; default: the builder image's own",
  platformImage: "the image of Cupola, which fetches the package",
  concurrency: `builds at the same time; default: ${DEFAULT_CONCURRENCY}`,
} as const;

/** Parses the parameters. Returns a sentence for each mistake, which names the parameter and what it takes. */
export function parseParameters(
  given: Readonly<Record<string, string>> = {},
): { parameters: CnbParameters } | { problems: string[] } {
  const { builderImage = "", runImage, platformImage = "", concurrency = String(DEFAULT_CONCURRENCY) } = given;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(CNB_PARAMETERS, name));
  const problems = [
    ...unknown.map((name) => `${name} is no parameter of it; there are ${Object.keys(CNB_PARAMETERS).join(", ")}`),
    ...checkImage("builderImage", builderImage),
    ...(runImage === undefined ? [] : checkImage("runImage", runImage)),
    ...checkImage("platformImage", platformImage),
    ...checkConcurrency(concurrency),
  ];
  if (problems.length > 0) return { problems };
  return { parameters: { builderImage, runImage, platformImage, concurrency: Number(concurrency) } };
}

function checkImage(name: keyof typeof CNB_PARAMETERS, value: string): string[] {
  if (value === "") return [`${name} is missing: name ${CNB_PARAMETERS[name]}`];
  try {
    parseImageName(value);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidImageName)) throw error;
    return [`${name}: ${error.message}`];
  }
}

function checkConcurrency(value: string): string[] {
  const number = Number(value);
  return Number.isInteger(number) && number >= 1 && number <= MAX_CONCURRENCY
    ? []
    : [`concurrency is a whole number from 1 to ${MAX_CONCURRENCY}, not ${JSON.stringify(value)}`];
}
