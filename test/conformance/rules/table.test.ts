// The table of rules in docs/security.md and the rows that are executed are the same, and the other tests that it names exist.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RULE_ROWS } from "./rows.ts";

const root = join(import.meta.dirname, "../../..");

/** Rows of the first table below the heading, as cells. */
function tableRows(): string[][] {
  const text = readFileSync(join(root, "docs/security.md"), "utf8");
  const section = text.split("## Rules at both doors\n")[1] ?? "";
  const lines = section.split("\n").slice(section.split("\n").findIndex((line) => line.startsWith("| rule |")));
  return lines.slice(2, lines.indexOf("")).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim().replaceAll("\\*", "*")),
  );
}

const rows = tableRows();
const executed = rows.filter((row) => row.at(-1) === "rules").map(([rule]) => rule);

test("each rule of the table that names the suite is executed by it, and the other way round", () => {
  expect(executed.toSorted()).toEqual(RULE_ROWS.map(({ rule }) => rule).toSorted());
});

test("the other rows name a test that exists", () => {
  const others = rows.filter((row) => row.at(-1) !== "rules");
  expect(others.length).toBeGreaterThan(0);
  expect(others.filter((row) => !existsSync(join(root, (row.at(-1) ?? "").replaceAll("`", ""))))).toEqual([]);
});

test("policies and files that the table names exist", () => {
  const policies = readFileSync(join(root, "deploy/helm/cupola/files/policies/policies.yaml"), "utf8");
  const named = rows.flatMap((row) => [...(row[3] ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));
  const isThere = (name: string): boolean =>
    name.includes("/")
      ? existsSync(join(root, name))
      : new RegExp(`name: [\\w.-]*${name.replaceAll("*", "[\\w.-]*")}`).test(policies);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});
