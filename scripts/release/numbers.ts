// The number of a release, which package.json, its lockfile, the chart and the changelog share. Pure.
import { isRelease, parseRelease } from "../../crds/replica/skew.ts";

/** The files with the number, as texts. */
export interface NumberedFiles {
  "package.json": string;
  "package-lock.json": string;
  "deploy/helm/cupola/Chart.yaml": string;
  "CHANGELOG.md": string;
}

export const NUMBERED_FILES = [
  "package.json",
  "package-lock.json",
  "deploy/helm/cupola/Chart.yaml",
  "CHANGELOG.md",
] as const satisfies readonly (keyof NumberedFiles)[];

const UNRELEASED = "## Unreleased\n";
const CHART_FIELDS = ["version", "appVersion"] as const;

/** The files with another number; the changelog's section "Unreleased" becomes that of the release. @throws Error that names what is wrong */
export function setVersion(files: NumberedFiles, version: string, date: string): NumberedFiles {
  const before = versionOf(files);
  if (!parseRelease(version)) throw new Error(`${version} is no version: write three numbers, such as 0.2.0`);
  if (!isRelease(version, before)) throw new Error(`${version} is older than ${before}, the version in package.json`);
  if (findSection(files["CHANGELOG.md"], version) !== undefined)
    throw new Error(`CHANGELOG.md has a section ${version} already`);
  if (findSection(files["CHANGELOG.md"], "Unreleased") === "")
    throw new Error('CHANGELOG.md has nothing below "Unreleased": a release has its changes there');
  return {
    "package.json": withVersion(files["package.json"], version),
    "package-lock.json": withVersion(files["package-lock.json"], version),
    "deploy/helm/cupola/Chart.yaml": CHART_FIELDS.reduce(
      (text, field) => text.replace(new RegExp(`^${field}: .*$`, "m"), `${field}: ${version}`),
      files["deploy/helm/cupola/Chart.yaml"],
    ),
    "CHANGELOG.md": files["CHANGELOG.md"].replace(UNRELEASED, `${UNRELEASED}\n## ${version} (${date})\n`),
  };
}

export function versionOf(files: Pick<NumberedFiles, "package.json">): string {
  return (JSON.parse(files["package.json"]) as { version: string }).version;
}

/** A lockfile says the version of its package twice. */
function withVersion(text: string, version: string): string {
  const parsed = JSON.parse(text) as { version: string; packages?: Record<string, { version: string }> };
  parsed.version = version;
  const own = parsed.packages?.[""];
  if (own) own.version = version;
  return `${JSON.stringify(parsed, null, 2)}\n`;
}

/** A sentence for each file that has another number. */
export function listMismatches(files: NumberedFiles, version: string): string[] {
  const lock = JSON.parse(files["package-lock.json"]) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  const found: [what: string, number: string | undefined][] = [
    ["package.json", versionOf(files)],
    ["package-lock.json", lock.version],
    ["package-lock.json, packages", lock.packages[""]?.version],
    ...CHART_FIELDS.map((field): [string, string | undefined] => [
      `Chart.yaml, ${field}`,
      new RegExp(`^${field}: (.*)$`, "m").exec(files["deploy/helm/cupola/Chart.yaml"])?.[1],
    ]),
  ];
  return found
    .filter(([, number]) => number !== version)
    .map(([what, number]) => `${what} has ${number ?? "no version"}, not ${version}`);
}

/** The text of a section, without its heading; undefined when there is none. */
export function findSection(changelog: string, title: string): string | undefined {
  const lines = changelog.split("\n");
  const start = lines.findIndex((line) => line === `## ${title}` || line.startsWith(`## ${title} (`));
  if (start < 0) return undefined;
  const end = lines.findIndex((line, at) => at > start && line.startsWith("## "));
  return lines
    .slice(start + 1, end < 0 ? undefined : end)
    .join("\n")
    .trim();
}
