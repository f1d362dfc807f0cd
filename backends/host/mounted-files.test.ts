// Files of bound services on a machine where nothing can be mounted at their own place.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { locateEnvironment, prepareEnvironment } from "./mounted-files.ts";

let folder: string;
beforeEach(() => (folder = join(mkdtempSync(join(tmpdir(), "cupola-files-")), "services")));
afterEach(() => rmSync(join(folder, ".."), { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const client = {
  find: (_kind: unknown, { name }: { name: string }) =>
    Promise.resolve(name === "kept" ? { data: { f0: base64("postgres://h"), f1: base64("{}") } } : undefined),
} as unknown as Parameters<typeof prepareEnvironment>[0];
const env = [
  { name: "SERVICE_BINDING_ROOT", value: "/etc/bindings" },
  { name: "FILE", value: "/etc/bindings/vcap" },
  { name: "OTHER", value: "/etc/bindings-of-mine" },
];

function workload(secret: string) {
  const items = [
    { key: "f0", path: "main/uri" },
    { key: "f1", path: "vcap" },
  ];
  return {
    metadata: { namespace: "space" },
    spec: { env, serviceFiles: { mountPath: "/etc/bindings", secretRef: { name: secret }, items } },
  };
}

test("files for this user alone, and variables that name them, twice the same", async () => {
  for (let at = 0; at < 2; at++)
    expect(await prepareEnvironment(client, workload("kept"), folder)).toEqual({
      SERVICE_BINDING_ROOT: folder,
      FILE: join(folder, "vcap"),
      OTHER: "/etc/bindings-of-mine",
    });
  expect(readFileSync(join(folder, "main", "uri"), "utf8")).toBe("postgres://h");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, "vcap")).mode & 0o777).toBe(0o600);
});

test("one more program of a start has the variables, and touches no file", async () => {
  expect(await locateEnvironment(client, workload("kept"), folder)).toMatchObject({ SERVICE_BINDING_ROOT: folder });
  expect(existsSync(folder)).toBe(false);
});

test("a missing Secret is named", async () => {
  await expect(prepareEnvironment(client, workload("gone"), folder)).rejects.toThrow(/key f0 of Secret gone/);
});
