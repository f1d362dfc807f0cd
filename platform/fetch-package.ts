// `cupola fetch-package`: unpacks a package into a folder, in the first container of a build, and the buildpacks that the builder image lacks into another.
// It talks to the registries of these, and to nobody else.
import { mkdir } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import { ArchiveRejected } from "../blobs/archive/archive-path.ts";
import { unpackTar } from "../blobs/archive/tar.ts";
import { BlobTooLarge } from "../blobs/blob-store.ts";
import { readDockerConfigFile } from "../blobs/registry/docker-config-file.ts";
import { parseRegistryPrefix, repositoryOf } from "../blobs/registry/image-name.ts";
import { createRegistryClient } from "../blobs/registry/registry-client.ts";
import { ImageNotFound } from "../blobs/registry/registry-error.ts";

interface FetchOptions {
  registry: string;
  insecureRegistry: string[];
  registryCredentials?: string;
  space: string;
  digest: string;
  maxMb: number;
  to: string;
  buildpacks?: string;
  buildpacksTo?: string;
}

const MEBIBYTE = 2 ** 20;

/** @param argv as process.argv, with the command's name. @throws Error for the person who pushed */
async function fetchPackage(argv: readonly string[]): Promise<void> {
  const options = parse(argv);
  const { registry, insecureRegistry, registryCredentials, space, digest, maxMb, to } = options;
  const prefix = parseRegistryPrefix(registry);
  const client = createRegistryClient({
    credentials:
      registryCredentials === undefined
        ? () => Promise.resolve(undefined)
        : await readDockerConfigFile(registryCredentials),
    insecureHosts: insecureRegistry,
  });
  try {
    await mkdir(to, { recursive: true });
    const content = await client.openBlob(
      { host: prefix.host, repository: repositoryOf(prefix, space, "package") },
      { digest },
    );
    await unpackTar(content, to, { maxBytes: maxMb * MEBIBYTE, symlinks: "inside" });
    if (options.buildpacks !== undefined && options.buildpacksTo !== undefined) {
      // Most builds need none of it.
      const { fetchBuildpacks } = await import("./fetch-buildpacks.ts");
      await fetchBuildpacks({
        client,
        prefix,
        file: options.buildpacks,
        to: options.buildpacksTo,
        maxBytes: maxMb * MEBIBYTE,
        insecureHosts: insecureRegistry,
      });
    }
  } catch (error) {
    throw present(error);
  } finally {
    await client.close();
  }
}

function parse(argv: readonly string[]): FetchOptions {
  return new Command("cupola fetch-package")
    .description("Unpacks a package into a folder. The Pods of builds run it.")
    .requiredOption("--registry <host[:port]/path>", "where the platform keeps its blobs")
    .option("--insecure-registry <host[:port]>", "a host to reach by plain http", collect, [])
    .option("--registry-credentials <file>", "credentials, as a dockerconfigjson")
    .requiredOption("--space <guid>", "the space of the package")
    .requiredOption("--digest <digest>", "digest of its content")
    .requiredOption("--max-mb <n>", "the most that it may unpack to", parseSize)
    .requiredOption("--to <folder>", "an empty folder")
    .option("--buildpacks <file>", "which buildpacks to put beside those of the builder image")
    .option("--buildpacks-to <folder>", "an empty folder for them")
    .parse([...argv])
    .opts<FetchOptions>();
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

function parseSize(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("a size is a number of MB.");
  return Number(text);
}

function present(error: unknown): unknown {
  if (error instanceof ImageNotFound)
    return new Error("the package's content is not in the registry; push again", { cause: error });
  if (error instanceof ArchiveRejected)
    return new Error(`the package cannot be unpacked: ${error.message}`, { cause: error });
  if (error instanceof BlobTooLarge)
    return new Error(`the package unpacks to more than ${error.maxBytes / MEBIBYTE} MB, the disk of the build`, {
      cause: error,
    });
  return error;
}

try {
  // The name of the command is the program's to commander.
  await fetchPackage([...process.argv.slice(0, 2), ...process.argv.slice(3)]);
} catch (error) {
  process.stderr.write(`cupola: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
