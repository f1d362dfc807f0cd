// Settings that the Java buildpack gives a JVM and the app's framework at a start.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parse } from "smol-toml";
import { expect, test } from "vitest";

/** Runs an exec.d program as the launcher does, and returns the variables that it sets. */
function variablesOf(program: "jvm-options" | "port-variables", env: Record<string, string>): object {
  const { status, output } = spawnSync(join(import.meta.dirname, "buildpacks", "java", program), {
    env: { PATH: "/usr/bin:/bin", ...env },
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    encoding: "utf8",
  });
  expect(status).toBe(0);
  return parse(output[3] ?? "");
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
  expect(variablesOf("jvm-options", env)).toEqual(expected === undefined ? {} : { JAVA_TOOL_OPTIONS: expected });
});

const ports = { SERVER_PORT: "8123", QUARKUS_HTTP_PORT: "8123", MICRONAUT_SERVER_PORT: "8123" };
test.each<[string, Record<string, string>, object]>([
  ["in a container", { PORT: "8123" }, ports],
  [
    "on a laptop",
    { PORT: "8123", HOST: "127.0.0.1" },
    {
      ...ports,
      SERVER_ADDRESS: "127.0.0.1",
      QUARKUS_HTTP_HOST: "127.0.0.1",
      MICRONAUT_SERVER_HOST: "127.0.0.1",
    },
  ],
  ["with a HOST of the owner's", { PORT: "8123", HOST: "shop.example.com" }, ports],
  [
    "with a port of the owner's",
    { PORT: "8123", SERVER_PORT: "1", QUARKUS_HTTP_PORT: "" },
    { MICRONAUT_SERVER_PORT: "8123" },
  ],
  ["of a process without a port", {}, {}],
  ["with a PORT that is no number", { PORT: '1"\nA = "b' }, {}],
])("ports of frameworks: %s", (_title, env, expected) => {
  expect(variablesOf("port-variables", env)).toEqual(expected);
});
