// Each kind is exported, or left out with a reason that the page names.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFINITIONS } from "./definitions.ts";
import { EXPORTED_KINDS, LEFT_OUT_KINDS } from "./exported-kinds.ts";

test("each kind is exported or left out, and none both", () => {
  const exported = EXPORTED_KINDS.map(({ kind }) => kind);
  const ours = DEFINITIONS.map(({ kind }) => kind);
  expect([...exported, ...Object.keys(LEFT_OUT_KINDS)].sort()).toEqual([...ours, "RoleBinding", "Secret"].sort());
});

test("docs/operate/backup.md names each kind that is left out", () => {
  const page = readFileSync(new URL("../docs/operate/backup.md", import.meta.url), "utf8");
  for (const kind of Object.keys(LEFT_OUT_KINDS)) expect(page, kind).toContain(kind);
});
