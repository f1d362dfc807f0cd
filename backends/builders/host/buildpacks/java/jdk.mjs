// Which Java builds and runs the app: the oldest on this machine that is new enough, the one on the PATH first.
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { readIfThere, readVersionFile } from "../shared/files.mjs";
import { Problem } from "../shared/log.mjs";
import { findTool, userHome } from "../shared/tools.mjs";

/** `{ major, source }` of the Java that the app asks for; undefined when it says nothing. */
export function wantedJava(app) {
  const read = (file, pattern) => pattern.exec(readIfThere(join(app, file)))?.[1];
  const said = [
    ["system.properties", read("system.properties", /^java\.runtime\.version\s*=\s*(?:1\.)?(\d+)/m)],
    [".java-version", /(?:1\.)?(\d+)/.exec(readVersionFile(join(app, ".java-version")))?.[1]],
    [".sdkmanrc", read(".sdkmanrc", /^java\s*=\s*(\d+)/m)],
    ["pom.xml", read("pom.xml", /<(?:java\.version|maven\.compiler\.(?:release|target)|release)>\s*(?:1\.)?(\d+)/)],
    ["build.gradle", read("build.gradle", /JavaLanguageVersion\.of\((\d+)\)/)],
    ["build.gradle.kts", read("build.gradle.kts", /JavaLanguageVersion\.of\((\d+)\)/)],
  ];
  const [source, major] = said.find(([, version]) => version) ?? [];
  return source && { source, major: Number(major) };
}

/** The JDK to use: its home, its major version, and whether it is the one on the PATH. Throws with those that are here when none fits. */
export function findJdk(wanted) {
  const found = listJdks();
  if (found.length === 0)
    throw new Problem(
      "Java is not installed on this machine: there is no java on the PATH. Next: install a JDK, such as Temurin (adoptium.net) or your system's package openjdk-21-jdk",
    );
  const needed = wanted?.major ?? 0;
  const [first, ...others] = found;
  const fitting = [first, ...others.sort((a, b) => a.major - b.major)].find(({ major }) => major >= needed);
  if (fitting) return fitting;
  throw new Problem(
    `Java ${needed}, which ${wanted.source} asks for, is not on this machine; it has ${found.map(({ major }) => major).join(", ")}. Next: install JDK ${needed} (adoptium.net), or change ${wanted.source}`,
  );
}

function listJdks() {
  const onPath = findTool("java");
  const homes = [
    ...(onPath ? [dirname(dirname(realpathSync(onPath)))] : []),
    ...[
      "/usr/lib/jvm",
      "/opt/java",
      "/Library/Java/JavaVirtualMachines",
      join(userHome() ?? "/", ".sdkman", "candidates", "java"),
    ].flatMap(listFolders),
  ];
  const seen = new Set();
  return homes
    .flatMap((home) => [home, join(home, "Contents", "Home")])
    .filter((home) => existsSync(join(home, "bin", "java")) && existsSync(join(home, "release")))
    .map((home) => realpathSync(home))
    .filter((home) => !seen.has(home) && seen.add(home))
    .map((home) => ({ home, ...readRelease(home) }));
}

function readRelease(home) {
  const version = /^JAVA_VERSION="([^"]+)"/m.exec(readIfThere(join(home, "release")))?.[1] ?? "0";
  return { version, major: Number(version.replace(/^1\./, "").split(/[.+-]/)[0]) };
}

function listFolders(folder) {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}
