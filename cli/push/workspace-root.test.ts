// The next step for a package that was pushed without its workspace.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Failure } from "../failure.ts";
import { withWorkspace } from "./workspace-root.ts";

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cup-workspace-"));
  folder = join(root, "packages", "web");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(root, "packages", "package.json"), "no JSON");
});
afterEach(() => rmSync(root, { recursive: true }));

const missing = new Failure("the build of web failed", {
  next: "correct the name of @acme/shared in package.json, then: cup push web",
});
const protocol = new Failure("the build of web failed", { next: "push the workspace whole, from its top folder" });
const adviceFor = (error: unknown): string | undefined =>
  (withWorkspace(error, { app: "web", folder }) as Failure).next;

test.each([
  ["package.json", '{"workspaces":["packages/*"]}', missing],
  ["pnpm-workspace.yaml", "packages: []\n", protocol],
])("names the workspace of %s and the package in it", (file, text, error) => {
  writeFileSync(join(root, file), text);
  expect(adviceFor(error)).toBe(
    `push the whole workspace: cup set-env web BP_NODE_PROJECT_PATH packages/web && cup push web --path ${relative(process.cwd(), root)}`,
  );
});

test("leaves other errors, and folders of no workspace", () => {
  expect(adviceFor(missing)).toBe(missing.next);
  writeFileSync(join(root, "package.json"), '{"workspaces":["packages/*"]}');
  const other = new Failure("the build of web failed", { next: "npm install" });
  expect(adviceFor(other)).toBe("npm install");
  expect(withWorkspace("text", { app: "web", folder })).toBe("text");
});
