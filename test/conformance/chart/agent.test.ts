// The chart on a cluster whose hub cannot call it: it leads the agent to the hub, and keeps the token in a Secret.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary, whyNoBinaries } from "../../cluster/binaries.ts";

interface Rendered {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec?: { template?: { spec: { volumes: { name: string }[]; containers: { args: string[] }[] } } };
}

const CHART = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "cupola");
const IMAGE = { image: { repository: "registry.example.org/cupola" } };
const HUB = { url: "https://hub.example.org:6443", cluster: "west", token: "first-token", ca: "UEVN" };

const reason = whyNoBinaries(["helm"]);
if (reason) console.log(`the chart of an agent: skipped, ${reason}`);

describe.skipIf(reason)("the chart of a cluster that its hub cannot call", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-agent-chart-"));
  let binary: string;

  beforeAll(async () => {
    binary = await provideBinary("helm");
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function template(values: object): Promise<{ code: number | null; output: string }> {
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify({ ...IMAGE, ...values }));
    const env = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
    const command: [string, ...string[]] = [binary, "template", "cupola", CHART, "-n", "cupola-system", "-f", file];
    return runCommand(command, { cwd: folder, deadlineMs: 60_000, env });
  }

  test("leads the agent to its hub, and no other part", async () => {
    const { code, output } = await template({ mode: "spoke", agent: { hub: HUB } });
    expect(code, output.slice(-2000)).toBe(0);
    const objects = parseAllDocuments(output).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
    const deployments = objects.filter(({ kind }) => kind === "Deployment");
    const pod = deployments.find(({ metadata }) => metadata.name === "cupola-agent")?.spec?.template?.spec;
    expect(pod?.containers[0]?.args.filter((arg) => arg.startsWith("--hub"))).toEqual([
      "--hub=https://hub.example.org:6443",
      "--hub-cluster=west",
      "--hub-token=/etc/cupola/hub/token",
      "--hub-ca=/etc/cupola/hub/ca.crt",
      "--hub-account-token=/etc/cupola/hub-account/token",
    ]);
    expect(pod?.volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(["hub", "hub-account"]));
    expect(JSON.stringify(deployments)).not.toContain("first-token");
    const others = deployments.filter(({ metadata }) => metadata.name !== "cupola-agent");
    expect(JSON.stringify(others)).not.toContain("--hub=");
    const join = objects.find(({ metadata }) => metadata.name === "cupola-agent-join");
    expect([join?.kind, join?.data]).toEqual([
      "Secret",
      { token: Buffer.from("first-token").toString("base64"), "ca.crt": "UEVN" },
    ]);
  });

  test("without a hub's address nothing of it is there", async () => {
    const { output } = await template({ mode: "spoke" });
    expect(output).toContain("name: cupola-agent");
    expect(output).not.toMatch(/--hub|cupola-agent-join/);
  });

  test.each([
    ["half a hub", { mode: "spoke", agent: { hub: { url: HUB.url } } }, "agent.hub.token go together"],
    ["a hub of a hub", { agent: { hub: HUB } }, "set mode=spoke"],
    [
      "a hub without TLS",
      { mode: "spoke", agent: { hub: { ...HUB, url: "http://hub.example.org" } } },
      "/agent/hub/url",
    ],
  ])("refuses %s in words", async (_, values, words) => {
    const { code, output } = await template(values);
    expect(code).not.toBe(0);
    expect(output).toContain(words);
  });
});
