// The tests' builder image and run image: the real lifecycle and our buildpacks, unchanged, on Debian's C libraries, bash, busybox and Node; with `languages`
// also Python, Java and Go.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "smol-toml";
import { listBaseEntries } from "../../../scripts/image/base-layer.ts";
import { providePackages } from "../../../scripts/image/debian-packages.ts";
import { listFolder, type ImageEntry } from "../../../scripts/image/image-entries.ts";
import { writeImage, type ImageConfig, type WrittenImage } from "../../../scripts/image/oci-image.ts";
import { listGoLayer, listLanguageLayers } from "./languages.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const BUILDPACKS = join(CHECKOUT, "backends", "builders", "host", "buildpacks");
/** In the order of detection; `script` is the tests' own and comes first. */
const DETECTED = ["java", "go", "python", "nodejs", "staticfile"] as const;
type Bundled = (typeof DETECTED)[number] | "procfile" | "binary";
/** Small images have these alone. */
const SMALL: readonly Bundled[] = ["nodejs", "staticfile"];

/** The user that builds, and the one that runs. */
const BUILD_USER = { uid: 1001, gid: 1000 };
const RUN_USER = { uid: 1002, gid: 1000 };
const STACK = "dev.cupola.test";

/** Runs the app's own detect.sh and build.sh, so that a test says what they do. */
const SCRIPT_BUILDPACK = {
  "buildpack.toml": `api = "0.10"\n[buildpack]\nid = "test/script"\nname = "Script"\nversion = "1.0.0"\n[[targets]]\nos = "linux"\n`,
  "bin/detect": "#!/bin/sh\ntest -f build.sh || exit 100\ntest ! -f detect.sh || . ./detect.sh\n",
  "bin/build": `#!/bin/sh\nset -e\n. ./build.sh\nprintf '[[processes]]\\ntype = "web"\\ncommand = ["node", "server.js"]\\ndefault = true\\n' > "$CNB_LAYERS_DIR/launch.toml"\n`,
};

export interface LifecyclePrograms {
  /** Paths of the programs on this machine. */
  lifecycle: string;
  launcher: string;
}

export interface ImageOptions {
  reference: string;
  /** Also Python, Java and Go, some 600 MB. */
  languages?: boolean;
}

/** Writes the run image into the folder `layout`. */
export async function writeRunImage(
  layout: string,
  { reference, languages = false }: ImageOptions,
): Promise<WrittenImage> {
  return writeImage(layout, {
    reference,
    layers: [...(await listSystemLayers()), ...(languages ? await listLanguageLayers() : [])],
    config: {
      ...systemConfig(RUN_USER),
      Labels: { "io.buildpacks.stack.id": STACK, "io.buildpacks.base.distro.name": "debian" },
    },
  });
}

/** Writes the builder image into the folder `layout`. `runImage` is the reference of the base of what it builds. */
export async function writeBuilderImage(
  layout: string,
  {
    reference,
    languages = false,
    runImage,
    programs,
  }: ImageOptions & { runImage: string; programs: LifecyclePrograms },
): Promise<WrittenImage> {
  const detected = languages ? DETECTED : SMALL;
  const order = toOrder(detected);
  const bundled: Bundled[] = [...detected, "procfile", "binary"];
  return writeImage(layout, {
    reference,
    layers: [
      ...(await listSystemLayers()),
      ...(languages ? [...(await listLanguageLayers()), listGoLayer()] : []),
      { name: "lifecycle", entries: listLifecycle(programs) },
      { name: "buildpacks", entries: [...listBuildpacks(bundled), ...listSettings(runImage, order)] },
    ],
    config: { ...systemConfig(BUILD_USER), Labels: builderLabels(runImage, bundled, order) },
  });
}

function systemConfig({ uid, gid }: { uid: number; gid: number }): ImageConfig {
  return {
    User: `${uid}:${gid}`,
    Env: ["PATH=/usr/bin:/bin", "HOME=/home/cnb", `CNB_USER_ID=${uid}`, `CNB_GROUP_ID=${gid}`, `CNB_STACK_ID=${STACK}`],
    WorkingDir: "/",
  };
}

async function listSystemLayers(): Promise<{ name: string; entries: ImageEntry[] }[]> {
  const { root } = await providePackages(["bash", "libtinfo6", "busybox-static"]);
  const { entries } = await listBaseEntries();
  const applets = [
    "sh",
    "env",
    "cat",
    "cp",
    "grep",
    "find",
    "id",
    "ln",
    "ls",
    "mkdir",
    "rm",
    "sed",
    "sleep",
    "test",
    "head",
    "dd",
    "wget",
  ];
  const passwd = `root:x:0:0:root:/root:/bin/sh\ncnb:x:${BUILD_USER.uid}:${BUILD_USER.gid}:cnb:/home/cnb:/bin/bash\nrun:x:${RUN_USER.uid}:${RUN_USER.gid}:run:/home/cnb:/bin/bash\n`;
  return [
    {
      name: "system",
      entries: [
        ...entries,
        // Where the library is depends on Debian's release.
        ...["lib", "usr/lib"]
          .filter((folder) => existsSync(join(root, folder)))
          .flatMap((folder) => listFolder(join(root, folder), `/${folder}`)),
        file("/bin/bash", { source: join(root, "bin", "bash") }),
        file("/bin/busybox", { source: join(root, "bin", "busybox") }),
        ...applets.map((name) => symlink(`/bin/${name}`, "busybox")),
        symlink("/usr/bin/env", "/bin/busybox"),
        { type: "file", path: "/etc/passwd", mode: 0o644, content: passwd },
        { type: "file", path: "/etc/group", mode: 0o644, content: "root:x:0:\ncnb:x:1000:\n" },
        { type: "directory", path: "/home/cnb", mode: 0o755, owner: BUILD_USER },
      ],
    },
    {
      name: "Node",
      entries: [
        file("/usr/bin/node", {
          source: join(CHECKOUT, "node_modules", `node-linux-${process.arch}`, "bin", "node"),
        }),
      ],
    },
  ];
}

function file(path: string, from: { source: string } | { content: string }): ImageEntry {
  return { type: "file", path, mode: 0o755, ...from };
}

function symlink(path: string, target: string): ImageEntry {
  return { type: "symlink", path, target };
}

function listLifecycle({ lifecycle, launcher }: LifecyclePrograms): ImageEntry[] {
  const phases = ["analyzer", "detector", "restorer", "builder", "exporter", "rebaser"];
  return [
    file("/cnb/lifecycle/lifecycle", { source: lifecycle }),
    file("/cnb/lifecycle/launcher", { source: launcher }),
    ...phases.map((phase) => symlink(`/cnb/lifecycle/${phase}`, "lifecycle")),
  ];
}

/** Our buildpacks import each other and packages of npm, so they lie together, and links lead there. */
function listBuildpacks(bundled: readonly Bundled[]): ImageEntry[] {
  return [
    ...bundled.flatMap((name) => [
      ...listFolder(join(BUILDPACKS, name), `/cnb/cupola/buildpacks/${name}`),
      symlink(`/cnb/buildpacks/cupola_${name}/${versionOf(name)}`, `/cnb/cupola/buildpacks/${name}`),
    ]),
    // It is in no order, so that whoever runs it has named it.
    file("/cnb/cupola/buildpacks/binary/bin/detect", { content: "#!/bin/sh\n" }),
    ...listFolder(join(BUILDPACKS, "shared"), "/cnb/cupola/buildpacks/shared"),
    ...["semver", "smol-toml"].flatMap((name) =>
      listFolder(join(CHECKOUT, "node_modules", name), `/cnb/cupola/node_modules/${name}`),
    ),
    ...Object.entries(SCRIPT_BUILDPACK).map(([path, content]) =>
      file(`/cnb/buildpacks/test_script/1.0.0/${path}`, { content }),
    ),
  ];
}

function versionOf(name: Bundled): string {
  const { buildpack } = parse(readFileSync(join(BUILDPACKS, name, "buildpack.toml"), "utf8")) as {
    buildpack: { version: string };
  };
  return buildpack.version;
}

interface OrderGroup {
  group: { id: string; version: string; optional?: boolean }[];
}

function toOrder(detected: readonly Bundled[]): OrderGroup[] {
  const entry = (name: Bundled): OrderGroup["group"][number] => ({ id: `cupola/${name}`, version: versionOf(name) });
  return [
    { group: [{ id: "test/script", version: "1.0.0" }] },
    ...detected.map((name) => ({ group: [entry(name), { ...entry("procfile"), optional: true }] })),
    { group: [entry("procfile")] },
  ];
}

function listSettings(runImage: string, order: readonly OrderGroup[]): ImageEntry[] {
  return [
    { type: "file", path: "/cnb/order.toml", mode: 0o644, content: stringify({ order }) },
    { type: "file", path: "/cnb/run.toml", mode: 0o644, content: `[[images]]\nimage = "${runImage}"\n` },
    // For platforms that speak an interface before 0.12, as kpack does.
    { type: "file", path: "/cnb/stack.toml", mode: 0o644, content: `[run-image]\nimage = "${runImage}"\n` },
    ...["/workspace", "/layers", "/platform"].map((path): ImageEntry => ({
      type: "directory",
      path,
      mode: 0o755,
      owner: BUILD_USER,
    })),
  ];
}

function builderLabels(
  runImage: string,
  bundled: readonly Bundled[],
  order: readonly OrderGroup[],
): Record<string, string> {
  const versions = {
    "test/script": "1.0.0",
    ...Object.fromEntries(bundled.map((name) => [`cupola/${name}`, versionOf(name)])),
  };
  const apis = {
    buildpack: { deprecated: [], supported: ["0.10", "0.11", "0.12"] },
    // kpack v0.17 speaks 0.9 at most.
    platform: { deprecated: [], supported: ["0.7", "0.8", "0.9", "0.10", "0.11", "0.12", "0.13", "0.14"] },
  };
  const labels = {
    "io.buildpacks.builder.metadata": {
      description: "The builder image of Cupola's tests",
      stack: { runImage: { image: runImage } },
      buildpacks: Object.entries(versions).map(([id, version]) => ({ id, version })),
      // kpack reads them here.
      lifecycle: { version: "0.21.0", apis },
    },
    "io.buildpacks.lifecycle.apis": apis,
    "io.buildpacks.buildpack.order": order,
    "io.buildpacks.buildpack.layers": Object.fromEntries(
      Object.entries(versions).map(([id, version]) => [id, { [version]: { api: "0.10" } }]),
    ),
  };
  return {
    "io.buildpacks.stack.id": STACK,
    ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, JSON.stringify(value)])),
  };
}
