// `npm run image [-- --output FOLDER] [--push NAME:TAG]`: the image of Cupola, written as an OCI image layout and a tar, or pushed to a registry.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command } from "commander";
import { readDockerConfigFile } from "../../blobs/registry/docker-config-file.ts";
import { parseImageName } from "../../blobs/registry/image-name.ts";
import { pushLayout } from "../../blobs/registry/push-layout.ts";
import { createRegistryClient } from "../../blobs/registry/registry-client.ts";
import { cupolaVersion, writeCupolaImage } from "./cupola-image.ts";
import { writeImageTar } from "./oci-image.ts";

interface Options {
  output?: string | undefined;
  reference: string;
  push?: string;
  credentials: string;
  insecureRegistry: string[];
}

const MEGABYTE = 1_000_000;

const options = new Command("npm run image --")
  .description("Builds the image of Cupola, without docker.")
  .option(
    "--output <folder>",
    "a new or empty folder for layout and tar (default: cupola-image, unless --push is given)",
  )
  .option("--reference <name:tag>", "name of the image in layout and tar", `cupola:${cupolaVersion()}`)
  .option("--push <name:tag>", "push it, for example to registry.example.org/cupola:1")
  .option(
    "--credentials <file>",
    "a dockerconfigjson",
    join(process.env["DOCKER_CONFIG"] || join(homedir(), ".docker"), "config.json"),
  )
  .option("--insecure-registry <hosts...>", "registries that are asked by plain http", [])
  .parse()
  .opts<Options>();

/** @throws Error when the folder holds anything: blobs of another image would be taken for this one's */
function makeEmptyFolder(path: string): string {
  if (existsSync(path) && readdirSync(path).length > 0)
    throw new Error(`${path} is not empty: choose a new folder with --output`);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Anonymous without a file of credentials. @throws RegistryError, or Error when the name is no image's */
async function push(layout: string, name: string, { credentials, insecureRegistry }: Options): Promise<string> {
  const client = createRegistryClient({
    credentials: existsSync(credentials) ? await readDockerConfigFile(credentials) : () => Promise.resolve(undefined),
    insecureHosts: insecureRegistry,
  });
  try {
    return await pushLayout(client, layout, parseImageName(name));
  } finally {
    await client.close();
  }
}

async function build({ output, reference, ...rest }: Options): Promise<void> {
  const isKept = output !== undefined || rest.push === undefined;
  const folder = isKept
    ? makeEmptyFolder(resolve(output ?? "cupola-image"))
    : mkdtempSync(join(tmpdir(), "cupola-image-"));
  try {
    const layout = join(folder, "layout");
    const { digest, size } = await writeCupolaImage(layout, rest.push ?? reference);
    console.log(`${digest}, layers of ${(size / MEGABYTE).toFixed(1)} MB`);
    if (isKept) {
      await writeImageTar(layout, join(folder, "cupola.tar"));
      console.log(`layout: ${layout}\ntar:    ${join(folder, "cupola.tar")}`);
    }
    if (rest.push) console.log(`pushed: ${rest.push}@${await push(layout, rest.push, { output, reference, ...rest })}`);
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

try {
  await build(options);
} catch (error) {
  console.error(`npm run image: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
