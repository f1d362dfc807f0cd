// `npm run image [-- --output FOLDER]`: the image of Cupola as an OCI image layout and as one tar.
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { cupolaVersion, writeCupolaImage } from "./cupola-image.ts";
import { writeImageTar } from "./oci-image.ts";

interface Options {
  output: string;
  reference: string;
}

const MEGABYTE = 1_000_000;

const { output, reference } = new Command("npm run image --")
  .description("Builds the image of Cupola, without docker.")
  .option("--output <folder>", "a new or empty folder for the layout and the tar", "cupola-image")
  .option("--reference <name:tag>", "name of the image", `cupola:${cupolaVersion()}`)
  .parse()
  .opts<Options>();

/** @throws Error when the folder holds anything: blobs of another image would be taken for this one's */
function makeEmptyFolder(path: string): string {
  if (existsSync(path) && readdirSync(path).length > 0)
    throw new Error(`${path} is not empty: choose a new folder with --output`);
  mkdirSync(path, { recursive: true });
  return path;
}

try {
  const folder = makeEmptyFolder(resolve(output));
  const layout = join(folder, "layout");
  const { digest, size } = await writeCupolaImage(layout, reference);
  const tar = join(folder, "cupola.tar");
  await writeImageTar(layout, tar);
  console.log(
    [
      `${reference} ${digest}`,
      `compressed layers: ${(size / MEGABYTE).toFixed(1)} MB`,
      `layout: ${layout}`,
      `tar:    ${tar} (${(statSync(tar).size / MEGABYTE).toFixed(1)} MB)`,
    ].join("\n"),
  );
} catch (error) {
  console.error(`npm run image: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
