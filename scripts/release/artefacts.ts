// Makes all parts of a release in one folder: npm package, chart, kinds, images, bill of materials, notes and checksums. Two builds of one commit are equal.
import { createHash } from "node:crypto";
import {
  createReadStream,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ANNOTATIONS } from "../../crds/labels.ts";
import { listFolder } from "../image/image-entries.ts";
import { writeCupolaImage } from "../image/cupola-image.ts";
import { writeImageTar } from "../image/oci-image.ts";
import { writeTarGz } from "../image/oci-layer.ts";
import type { Processor } from "../image/processor.ts";
import { runCommand } from "../run-command.ts";
import { findSection } from "./numbers.ts";
import { makeBom } from "./sbom.ts";
import { stageRelease } from "./stage.ts";

export const CHECKSUMS = "SHA256SUMS";
const CHART = "deploy/helm/cupola";
const PACK_MS = 120_000;

export interface Release {
  checkout: string;
  version: string;
  /** Processors of the images. */
  processors: readonly Processor[];
  onStep: (text: string) => void;
}

/** @param folder an empty one. @throws Error that says what cannot be made here */
export async function buildArtefacts(folder: string, release: Release): Promise<void> {
  const { checkout, version, onStep } = release;
  const temp = mkdtempSync(join(tmpdir(), "cupola-artefacts-"));
  try {
    onStep("npm package");
    await packModule(folder, temp, release);
    onStep("chart and kinds");
    await writeTarGz(join(folder, `cupola-chart-${version}.tgz`), listFolder(join(checkout, CHART), "/cupola"));
    writeFileSync(
      join(folder, `cupola-kinds-${version}.yaml`),
      joinKinds(join(checkout, CHART, "files", "crds"), version),
    );
    const debian = await buildImages(folder, temp, release);
    onStep("bill of materials, notes and checksums");
    writeFileSync(join(folder, `cupola-sbom-${version}.cdx.json`), await makeBom(checkout, debian));
    writeFileSync(join(folder, "NOTES.md"), notesOf(readFileSync(join(checkout, "CHANGELOG.md"), "utf8"), version));
    writeFileSync(join(folder, CHECKSUMS), await listChecksums(folder));
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

async function packModule(folder: string, temp: string, { checkout }: Release): Promise<void> {
  const staged = join(temp, "package");
  mkdirSync(staged);
  stageRelease(checkout, staged);
  const { code, output } = await runCommand(
    ["npm", "pack", staged, "--ignore-scripts", "--silent", "--pack-destination", folder],
    { cwd: temp, deadlineMs: PACK_MS },
  );
  if (code !== 0) throw new Error(`npm pack failed\n${output.slice(-2000)}`);
}

/** Each says its version, as the chart has it say. */
function joinKinds(folder: string, version: string): string {
  const annotations = `  annotations:\n    ${ANNOTATIONS.schemaVersion}: "${version.replace(/[-+].*$/, "")}"`;
  return globSync("*.yaml", { cwd: folder })
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8").replace(/^metadata:$/m, `$&\n${annotations}`))
    .join("---\n");
}

/** @returns Debian's packages of all images */
async function buildImages(folder: string, temp: string, { version, processors, onStep }: Release): Promise<string[]> {
  const packages = new Set<string>();
  for (const processor of processors) {
    onStep(`image for ${processor}`);
    const layout = join(temp, `image-${processor}`);
    const { debian } = await writeCupolaImage(layout, `cupola:${version}`, processor);
    await writeImageTar(layout, join(folder, `cupola-image-${version}-${processor}.tar`));
    for (const one of debian) packages.add(one);
  }
  return [...packages];
}

function notesOf(changelog: string, version: string): string {
  const section = findSection(changelog, version) ?? findSection(changelog, "Unreleased") ?? "";
  return `# Cupola ${version}\n\n${section}\n`;
}

async function listChecksums(folder: string): Promise<string> {
  const lines = [];
  for (const name of readdirSync(folder).sort()) lines.push(`${await digestOf(join(folder, name))}  ${name}\n`);
  return lines.join("");
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
