// The image of Cupola: a small Debian base, Node, the production dependencies, and our sources, which Node runs as they are.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { IMAGE_USER, listBaseEntries } from "./base-layer.ts";
import { isOnlyForTests } from "../shipped-sources.ts";
import { listCompileCache } from "./compile-cache.ts";
import { listFolder, type ImageEntry } from "./image-entries.ts";
import { provideNode } from "./node-binary.ts";
import { ownProcessor, type Processor } from "./processor.ts";
import { writeImage, type WrittenImage } from "./oci-image.ts";
import { provideProductionModules } from "./production-modules.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
/** The rungs of docs/ARCHITECTURE.md that `platform/cupola.ts` imports from. */
const SOURCE_FOLDERS = ["kube", "crds", "blobs", "telemetry", "api", "controllers", "backends", "platform"];
/** Declarations, source maps and documents of dependencies; licences stay. */
const UNUSED_OF_MODULES = /(\.d\.[cm]?ts|\.map|\.md|\.markdown)$|^\.package-lock\.json$/i;
/** Where the platform keeps what it may lose. The chart mounts an empty folder there. */
const DATA_FOLDER = "/var/lib/cupola";

/** Version of the package, which is the image's default tag. */
export function cupolaVersion(): string {
  return (JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as { version: string }).version;
}

/** An image, and Debian's packages in it. */
export interface WrittenCupolaImage extends WrittenImage {
  debian: readonly string[];
}

/** Writes the image into `layout`. @param reference its name, with a tag. @throws Error that names what is missing */
export async function writeCupolaImage(
  layout: string,
  reference: string,
  processor: Processor = ownProcessor(),
): Promise<WrittenCupolaImage> {
  if (process.platform !== "linux") throw new Error("build the image on Linux");
  const [base, modules] = [await listBaseEntries(processor), await provideProductionModules(CHECKOUT)];
  const node = await provideNode(CHECKOUT, processor);
  const dependencies = listFolder(modules, "/cupola/node_modules", { exclude: (path) => UNUSED_OF_MODULES.test(path) });
  const sources = listSources();
  // Only a Node that runs here can make it; without it a build starts more slowly.
  const compiled =
    processor === ownProcessor() ? await listCompileCache([...dependencies, ...sources], node) : undefined;
  const image = await writeImage(layout, {
    reference,
    processor,
    layers: [
      { name: "Debian's C and C++ libraries, certificate authorities", entries: base.entries },
      { name: "Node", entries: [{ type: "file", path: "/usr/bin/node", mode: 0o755, source: node }] },
      { name: "dependencies", entries: dependencies },
      { name: "Cupola", entries: sources },
      // Other bytes on another CPU, so that it is a layer of its own.
      ...(compiled ? [{ name: "compile cache of fetch-package", entries: compiled }] : []),
    ],
    config: {
      User: `${IMAGE_USER.uid}:${IMAGE_USER.gid}`,
      WorkingDir: "/cupola",
      Env: ["PATH=/usr/bin", "NODE_ENV=production", "HOME=/tmp", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
      Entrypoint: ["/usr/bin/node", "--disable-warning=ExperimentalWarning", "platform/cupola.ts"],
      Cmd: ["--help"],
      Labels: {
        "org.opencontainers.image.title": "cupola",
        "org.opencontainers.image.version": cupolaVersion(),
        "org.opencontainers.image.licenses": "Apache-2.0",
        "dev.cupola.packages": base.versions.join(" "),
      },
    },
  });
  return { ...image, debian: base.versions };
}

function listSources(): ImageEntry[] {
  const folders = SOURCE_FOLDERS.flatMap((name) =>
    listFolder(join(CHECKOUT, name), `/cupola/${name}`, { exclude: isOnlyForTests }),
  );
  const files = ["package.json", "LICENSE"].map((name): ImageEntry => ({
    type: "file",
    path: `/cupola/${name}`,
    mode: 0o644,
    source: join(CHECKOUT, name),
  }));
  return [...folders, ...files, { type: "directory", path: DATA_FOLDER, mode: 0o755, owner: IMAGE_USER }];
}
