// The settings of the class `kpack`, from `BackendClass.spec.parameters`. Pure.
import { InvalidImageName, parseImageName } from "../../../blobs/registry/image-name.ts";

export interface KpackParameters {
  builderImage: string;
  runImage: string | undefined;
}

const NAMES = ["builderImage", "runImage"];

/** Parses the parameters. Returns a sentence for each mistake. */
export function parseKpackParameters(
  given: Readonly<Record<string, string>> = {},
): { parameters: KpackParameters } | { problems: string[] } {
  const { builderImage = "", runImage } = given;
  const problems = [
    ...Object.keys(given)
      .filter((name) => !NAMES.includes(name))
      .map((name) => `${name} is no parameter of it; there are ${NAMES.join(", ")}`),
    ...(builderImage === ""
      ? ["builderImage is missing: name an image with buildpacks"]
      : check("builderImage", builderImage)),
    ...(runImage === undefined ? [] : check("runImage", runImage)),
  ];
  return problems.length > 0 ? { problems } : { parameters: { builderImage, runImage } };
}

function check(name: string, image: string): string[] {
  try {
    parseImageName(image);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidImageName)) throw error;
    return [`${name}: ${error.message}`];
  }
}
