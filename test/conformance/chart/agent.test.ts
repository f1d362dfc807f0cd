// The chart on a cluster whose hub cannot call it: it leads the agent to the hub, and keeps the token in a Secret.
import { describe, expect, test } from "vitest";
import { whyNoBinaries } from "../../cluster/binaries.ts";
import { CHART, deploymentNamed, useChart } from "./chart.ts";

const VALUES = { image: { repository: "registry.example.org/cupola" } };
const HUB = { url: "https://hub.example.org:6443", cluster: "west", token: "first-token", ca: "UEVN" };

const reason = whyNoBinaries(["helm"]);
if (reason) console.log(`the chart of an agent: skipped, ${reason}`);

describe.skipIf(reason)("the chart of a cluster that its hub cannot call", () => {
  const { helm, render } = useChart();

  test("leads the agent to its hub, and no other part", async () => {
    const objects = await render({ ...VALUES, mode: "spoke", agent: { hub: HUB } });
    const deployments = objects.filter(({ kind }) => kind === "Deployment");
    const pod = deploymentNamed(objects, "cupola-agent");
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
    const objects = await render({ ...VALUES, mode: "spoke" });
    expect(deploymentNamed(objects, "cupola-agent")).toBeDefined();
    expect(JSON.stringify(objects)).not.toMatch(/--hub|cupola-agent-join/);
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
    const { code, output } = await helm(["template", "cupola", CHART], { ...VALUES, ...values });
    expect(code).not.toBe(0);
    expect(output).toContain(words);
  });
});
