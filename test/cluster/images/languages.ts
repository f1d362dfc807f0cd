// Layers with the toolchains that our buildpacks use where they run: Python and Java in builder image and run image, Go where it builds.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { providePackages } from "../../../scripts/image/debian-packages.ts";
import { listFolder, type ImageEntry } from "../../../scripts/image/image-entries.ts";

export interface ImageLayer {
  name: string;
  entries: ImageEntry[];
}

/** Packages of Debian 12. */
const PYTHON = [
  ...["python3.11", "python3.11-minimal", "libpython3.11-stdlib", "libpython3.11-minimal", "python3.11-venv"],
  ...["python3-distutils", "python3-pip-whl", "python3-setuptools-whl"],
  ...["libexpat1", "zlib1g", "libssl3", "libbz2-1.0", "libffi8", "liblzma5", "libsqlite3-0", "libuuid1", "libcrypt1"],
];
/** Without what only windows and sound need. */
const JAVA = ["openjdk-17-jre-headless", "zlib1g"];

const UNUSED = /^usr\/share\/(doc|man|lintian|locale|bug|applications|binfmts)(\/|$)/;
const UNUSED_GO = /^(api|doc|misc|test)(\/|$)|\/testdata(\/|$)|_test\.go$/;

/** Image that builds and runs. @throws Error when the packages cannot be had */
export async function listLanguageLayers(): Promise<ImageLayer[]> {
  const [python, java] = await Promise.all([providePackages(PYTHON), providePackages(JAVA)]);
  const home = `/usr/lib/jvm/java-17-openjdk-${process.arch === "arm64" ? "arm64" : "amd64"}`;
  return [
    {
      name: "Python",
      entries: [...listPackages(python.root), { type: "symlink", path: "/usr/bin/python3", target: "python3.11" }],
    },
    {
      name: "Java",
      entries: [...listPackages(java.root), { type: "symlink", path: "/usr/bin/java", target: `${home}/bin/java` }],
    },
  ];
}

function listPackages(root: string): ImageEntry[] {
  return listFolder(root, "/", { exclude: (path) => UNUSED.test(path) });
}

/** This machine's Go. @throws Error when it has none */
export function listGoLayer(): ImageLayer {
  const { stdout } = spawnSync("go", ["env", "GOROOT"], { encoding: "utf8" });
  const root = (stdout ?? "").trim();
  if (!existsSync(join(root, "bin", "go"))) throw new Error("there is no Go on this machine for the builder image");
  return {
    name: "Go",
    entries: [
      ...listFolder(root, "/usr/local/go", { exclude: (path) => UNUSED_GO.test(path) }),
      { type: "symlink", path: "/usr/bin/go", target: "/usr/local/go/bin/go" },
    ],
  };
}
