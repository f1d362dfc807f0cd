// Files of bound services, as Cloud Foundry names and fills them.
import { expect, test } from "vitest";
import type { BoundService } from "../app/vcap.ts";
import { MAX_FILES, MAX_FILES_BYTES, toBindingFiles } from "./binding-files.ts";

const service = (more: Partial<BoundService> = {}): BoundService => ({
  label: "database",
  provider: null,
  plan: "small",
  name: "main",
  tags: ["sql"],
  instance_guid: "i",
  instance_name: "db",
  binding_guid: "b",
  binding_name: "main",
  credentials: { uri: "postgres://h/d", port: 5432, "ca.crt": "PEM", options: {}, type: "theirs", nothing: null },
  syslog_drain_url: null,
  volume_mounts: [],
  ...more,
});

const problemOf = (...services: BoundService[]): string => {
  const found = toBindingFiles("folder", services);
  return "problem" in found ? found.problem : "";
};

test("a folder for each binding, a file for each credential and for what VCAP_SERVICES says", () => {
  const found = toBindingFiles("folder", [service()]);
  expect("files" in found && Object.fromEntries(found.files.map(({ path, text }) => [path, text]))).toEqual({
    "main/uri": "postgres://h/d",
    "main/port": "5432",
    "main/ca.crt": "PEM",
    "main/label": "database",
    "main/plan": "small",
    "main/name": "main",
    "main/tags": '["sql"]',
    "main/instance-guid": "i",
    "main/instance-name": "db",
    "main/binding-guid": "b",
    "main/binding-name": "main",
    "main/type": "database",
    "main/provider": "database",
  });
});

test("one file with VCAP_SERVICES, also where nothing is bound", () => {
  expect(toBindingFiles("file", [])).toEqual({ files: [{ path: "vcap_services", text: "{}" }] });
  const found = toBindingFiles("file", [service()]);
  expect("files" in found && JSON.parse(found.files[0]?.text ?? "")).toMatchObject({ database: [{ name: "main" }] });
});

test.each(["", "Main", "a b", ".", "..", "..main", "a/b", "x".repeat(254)])(
  "the binding name %j is no folder",
  (name) => {
    expect(problemOf(service({ name }))).toMatch(/is no name of a folder/);
  },
);

test.each(["URI", "..", "..data", "a/b", "a b", ""])(
  "the credential name %j is no file, and no value is told",
  (key) => {
    const text = problemOf(service({ credentials: { [key]: "s3cret" } }));
    expect(text).toMatch(/is no name of a file/);
    expect(text).not.toContain("s3cret");
  },
);

test("names that are there twice", () => {
  expect(problemOf(service(), service({ binding_guid: "c" }))).toMatch(/two bindings have the name 'main'/);
});

test("bounds on bytes and on files", () => {
  expect(problemOf(service({ credentials: { a: "x".repeat(MAX_FILES_BYTES) } }))).toMatch(/bytes of files/);
  const many = Object.fromEntries(Array.from({ length: MAX_FILES }, (_, n) => [`k${n}`, "x"]));
  expect(problemOf(service({ credentials: many }))).toMatch(/files, and an app may have 1000/);
});
