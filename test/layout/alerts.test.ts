// Each alert of the chart has its paragraph in docs/operate/alerts.md, and asks for metrics that there are.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { METRICS } from "../../platform/metrics/definitions.ts";

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  annotations?: { summary: string; runbook: string };
}

const CHECKOUT = join(import.meta.dirname, "..", "..");
const read = (...path: string[]): string => readFileSync(join(CHECKOUT, ...path), "utf8");
const rules = (
  parse(read("deploy", "helm", "cupola", "prometheus", "rules.yaml")) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

it("each alert names a heading of the page, and each heading is an alert's", () => {
  const page = read("docs", "operate", "alerts.md");
  const anchors = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading?.toLowerCase().replaceAll(" ", "-"));
  const named = rules.flatMap(({ annotations }) => annotations?.runbook ?? []);
  expect(named.toSorted()).toEqual(anchors.map((anchor) => `docs/operate/alerts.md#${anchor}`).toSorted());
  const alerts = rules.flatMap(({ alert }) => alert ?? []);
  expect(alerts.filter((alert) => !page.includes(`\`${alert}\``))).toEqual([]);
});

it("each rule asks for metrics of Cupola, of kube-state-metrics, or for another rule", () => {
  const known = new Set([...METRICS.map(({ name }) => name), ...rules.flatMap(({ record }) => record ?? [])]);
  const asked = rules.flatMap(
    ({ expr }) => expr.match(/\b(?:cupola|workqueue|leader|controller|rest)[_:][\w:]+/g) ?? [],
  );
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});
