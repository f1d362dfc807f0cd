// `cupola fetch-package --registry=… --space=… --digest=… --max-mb=… --to=…`: unpacks a package into a folder, in the first container of a build, and the buildpacks that the builder image lacks into another.
// It talks to the registries of these, and to nobody else.
import { mkdir } from "node:fs/promises";
import { parseArgs } from "node:util";
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
  registryCredentials: string | undefined;
  space: string;
  digest: string;
  maxMb: number;
  to: string;
  buildpacks: string | undefined;
  buildpacksTo: string | undefined;
}

const MEBIBYTE = 2 ** 20;

/** @param words after the command's name. @throws Error for the person who pushed */
async function fetchPackage(words: readonly string[]): Promise<void> {
  const options = parse(words);
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

/** By Node's own parser: every build waits for this program, and a library costs it some ten milliseconds. */
function parse(words: readonly string[]): FetchOptions {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...words],
    options: {
      registry: text,
      "insecure-registry": { ...text, multiple: true },
      "registry-credentials": text,
      space: text,
      digest: text,
      "max-mb": text,
      to: text,
      buildpacks: text,
      "buildpacks-to": text,
    },
  });
  const need = (name: "registry" | "space" | "digest" | "max-mb" | "to"): string => {
    const value = values[name];
    if (value === undefined) throw new Error(`fetch-package needs --${name}`);
    return value;
  };
  return {
    registry: need("registry"),
    insecureRegistry: values["insecure-registry"] ?? [],
    registryCredentials: values["registry-credentials"],
    space: need("space"),
    digest: need("digest"),
    maxMb: parseSize(need("max-mb")),
    to: need("to"),
    buildpacks: values.buildpacks,
    buildpacksTo: values["buildpacks-to"],
  };
}

function parseSize(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error("--max-mb: a size is a number of MB");
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

const USAGE = `cupola fetch-package --registry HOST[:PORT]/PATH --space GUID --digest DIGEST --max-mb N --to FOLDER
  [--insecure-registry HOST[:PORT]]... [--registry-credentials FILE] [--buildpacks FILE --buildpacks-to FOLDER]
Unpacks a package into a folder. The Pods of builds run it.
`;

try {
  const words = process.argv.slice(3);
  // The image's making calls it so, to keep what Node compiles.
  if (words[0] === "--help") process.stdout.write(USAGE);
  else await fetchPackage(words);
} catch (error) {
  process.stderr.write(`cupola: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
