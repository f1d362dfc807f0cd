// `npm run release -- VERSION` sets the number of a release; `--check VERSION` compares it; `--build FOLDER` makes all that is published.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { PROCESSORS, type Processor } from "../image/processor.ts";
import { buildArtefacts, CHECKSUMS } from "./artefacts.ts";
import { findSection, listMismatches, NUMBERED_FILES, setVersion, versionOf, type NumberedFiles } from "./numbers.ts";

const checkout = join(import.meta.dirname, "..", "..");

interface Options {
  check?: string;
  build?: string;
  processors: Processor[];
}

const program = new Command("npm run release --")
  .description("Makes a release from one number.")
  .argument("[version]", "set this number in package.json, its lockfile, the chart and the changelog")
  .option("--check <version>", "fail unless all of them have this number")
  .option("--build <folder>", "make package, chart, kinds, images, SBOM, notes and checksums in a new or empty folder")
  .option("--processors <names>", "processors of the images", (text) => text.split(",").map(toProcessor), [
    ...PROCESSORS,
  ])
  .parse();
const options = program.opts<Options>();

function toProcessor(text: string): Processor {
  const found = PROCESSORS.find((one) => one === text);
  if (!found) throw new Error(`there is no image for ${text}: choose among ${PROCESSORS.join(", ")}`);
  return found;
}

function readFiles(): NumberedFiles {
  const texts = NUMBERED_FILES.map((name) => [name, readFileSync(join(checkout, name), "utf8")]);
  return Object.fromEntries(texts) as unknown as NumberedFiles;
}

function prepare(version: string): void {
  const files = setVersion(readFiles(), version, new Date().toISOString().slice(0, 10));
  for (const name of NUMBERED_FILES) writeFileSync(join(checkout, name), files[name]);
  console.log(`${NUMBERED_FILES.join(", ")} have ${version}.`);
  console.log(
    `Next: git commit -am "release: ${version}" && git tag -s v${version} && git push origin main v${version}`,
  );
}

/** @throws Error that names each file with another number */
function check(version: string): NumberedFiles {
  const files = readFiles();
  const mismatches = listMismatches(files, version);
  if (mismatches.length > 0) throw new Error(mismatches.join("\n"));
  return files;
}

/** A release is published with its section of the changelog. */
function checkForTag(version: string): void {
  const files = check(version);
  if (findSection(files["CHANGELOG.md"], version) === undefined)
    throw new Error(`CHANGELOG.md has no section ${version}: npm run release -- ${version} makes it`);
  console.log(`All files have ${version}.`);
}

async function build(folder: string): Promise<void> {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(`${folder} is not empty: choose a new folder`);
  mkdirSync(folder, { recursive: true });
  const version = versionOf(readFiles());
  check(version);
  await buildArtefacts(folder, {
    checkout,
    version,
    processors: options.processors,
    onStep: (text) => console.log(`→ ${text}`),
  });
  console.log(readFileSync(join(folder, CHECKSUMS), "utf8").trimEnd());
}

try {
  const [version] = program.args;
  if (version !== undefined) prepare(version);
  else if (options.check !== undefined) checkForTag(options.check);
  else if (options.build !== undefined) await build(resolve(options.build));
  else program.help();
} catch (error) {
  console.error(`npm run release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
