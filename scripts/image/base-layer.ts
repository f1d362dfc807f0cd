// The lowest layer: what a Node program needs of an operating system, without a shell or a package manager.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ownProcessor, type Processor } from "./processor.ts";
import { providePackages } from "./debian-packages.ts";
import { listFolder, type ImageEntry } from "./image-entries.ts";

/** The C and C++ libraries that the Node binary is linked with, and the public certificate authorities. */
export const BASE_PACKAGES = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1", "ca-certificates"] as const;

/** A user of an image who is not root. */
export const IMAGE_USER = { uid: 10001, gid: 10001 };

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
cupola:x:${IMAGE_USER.uid}:${IMAGE_USER.gid}:cupola:/tmp:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
`;
const GROUP = `root:x:0:
cupola:x:${IMAGE_USER.gid}:
nogroup:x:65534:
`;

/** Parts of the packages that no program of ours opens: documents, translations, character sets, tools. */
const UNUSED = /^usr\/(share\/(doc|man|lintian|locale)|sbin|lib\/[^/]+\/(gconv|audit))(\/|$)/;

/** Entries of the layer, and the versions of the packages in it. @throws Error when the packages cannot be had */
export async function listBaseEntries(
  processor: Processor = ownProcessor(),
): Promise<{ entries: ImageEntry[]; versions: string[] }> {
  const { root, versions } = await providePackages(BASE_PACKAGES, processor);
  const files = listFolder(root, "/", { exclude: (path) => UNUSED.test(path) });
  const etc = { passwd: PASSWD, group: GROUP, "nsswitch.conf": "hosts: files dns\n" };
  return {
    versions,
    entries: [
      ...files,
      ...Object.entries(etc).map(([name, content]) => toFile(`/etc/${name}`, content)),
      toFile("/etc/ssl/certs/ca-certificates.crt", certificateBundle(root)),
      { type: "directory", path: "/tmp", mode: 0o1777 },
    ],
  };
}

function toFile(path: string, content: string): ImageEntry {
  return { type: "file", path, mode: 0o644, content };
}

/** The package makes the bundle in a script of its installation, which does not run here. */
function certificateBundle(root: string): string {
  const folder = join(root, "usr/share/ca-certificates/mozilla");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".crt"))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}
