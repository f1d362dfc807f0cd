// What the Java buildpack tells a JVM at its start.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parse } from "smol-toml";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "buildpacks", "java", "jvm-options");

/** Runs it as the launcher does, and returns the JAVA_TOOL_OPTIONS that it sets. */
function optionsOf(env: Record<string, string>): unknown {
  const { status, output } = spawnSync(program, {
    env: { PATH: "/usr/bin:/bin", ...env },
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    encoding: "utf8",
  });
  expect(status).toBe(0);
  return parse(output[3] ?? "")["JAVA_TOOL_OPTIONS"];
}

const heap = "-Xmx601m -XX:+ExitOnOutOfMemoryError";

test.each<[string, Record<string, string>, string | undefined]>([
  ["heap and temporary files", { MEMORY_LIMIT: "802m", TMPDIR: "/i/tmp" }, `-Djava.io.tmpdir=/i/tmp ${heap}`],
  ["no TMPDIR", { MEMORY_LIMIT: "802m" }, heap],
  ["a TMPDIR that options cannot name", { MEMORY_LIMIT: "802m", TMPDIR: "/with space/" }, heap],
  ["a heap of the owner's", { MEMORY_LIMIT: "802m", TMPDIR: "/t", JAVA_OPTS: "-Xmx9m" }, "-Djava.io.tmpdir=/t"],
  [
    "a folder of the owner's, and a quote",
    { MEMORY_LIMIT: "802m", TMPDIR: "/t", JAVA_TOOL_OPTIONS: '-Djava.io.tmpdir="/o"' },
    `-Djava.io.tmpdir="/o" ${heap}`,
  ],
  ["all set by the owner", { TMPDIR: "/t", JAVA_TOOL_OPTIONS: "-Xmx9m -Djava.io.tmpdir=/o" }, undefined],
  ["neither limit nor TMPDIR", {}, undefined],
])("options of the JVM: %s", (_title, env, expected) => {
  expect(optionsOf(env)).toBe(expected);
});
