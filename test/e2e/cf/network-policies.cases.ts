// `cf` for network policies: which app may connect to which, with a login by token.
import { expect } from "vitest";
import { makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { noSuchApp } from "./support/refusals.ts";

interface Policies {
  policies: { source: { id: string }; destination: { id: string; protocol: string; ports: object } }[];
}

/** Two apps, `{name}` and `{other}`. */
async function twoApps(run: CaseRun): Promise<void> {
  run.values["other"] = `${run.name}-other`;
  await makeApp(run, { is: "empty" });
  run.values["otherGUID"] = await makeApp(run, { name: run.values["other"], is: "empty" });
}

const policiesOf = async (run: CaseRun): Promise<Policies["policies"]> =>
  (await run.ground.api.admin.call<Policies>("GET", `/networking/v1/external/policies?source_id=${run.values["app"]}`))
    .policies;

async function withPolicy(run: CaseRun): Promise<void> {
  await twoApps(run);
  const ports = { start: 8080, end: 8090 };
  const destination = { id: run.values["otherGUID"], protocol: "tcp", ports };
  const policies = [{ source: { id: run.values["app"] }, destination }];
  await run.ground.api.admin.call("POST", "/networking/v1/external/policies", { policies });
}

const hasPolicy =
  (protocol: string, start: number, end: number) =>
  async (run: CaseRun): Promise<void> =>
    expect(await policiesOf(run)).toEqual([
      {
        source: { id: run.values["app"] },
        destination: { id: run.values["otherGUID"], protocol, ports: { start, end } },
      },
    ]);

export const NETWORK_POLICY_CASES: readonly CommandCases[] = [
  {
    command: "add-network-policy",
    cases: [
      {
        name: "of the default port",
        login: "token",
        given: twoApps,
        run: "add-network-policy {name} {other}",
        shows: ["Adding network policy from app {name} to app {other}", "OK"],
        effect: hasPolicy("tcp", 8080, 8080),
      },
      {
        name: "--protocol, --port with a range",
        login: "token",
        given: twoApps,
        run: "add-network-policy {name} {other} --protocol udp --port 5000-5010",
        shows: ["OK"],
        effect: hasPolicy("udp", 5000, 5010),
      },
      {
        name: "by an auditor",
        as: "auditor",
        login: "token",
        given: twoApps,
        run: "add-network-policy {name} {other}",
        refused: ["FAILED"],
        effect: async (run) => expect(await policiesOf(run)).toEqual([]),
      },
      { ...noSuchApp("add-network-policy", "another"), login: "token" },
    ],
  },
  {
    command: "network-policies",
    cases: [
      {
        name: "of a space",
        login: "token",
        given: withPolicy,
        run: "network-policies",
        shows: ["8080-8090"],
        effect: (run, output) => Promise.resolve(expect(output).toContain(run.values["other"])),
      },
      {
        name: "--source",
        login: "token",
        given: withPolicy,
        run: "network-policies --source {name}",
        shows: ["8080-8090", "{other}"],
        effect: hasPolicy("tcp", 8080, 8090),
      },
    ],
  },
  {
    command: "remove-network-policy",
    cases: [
      {
        name: "by its apps, protocol and ports",
        login: "token",
        given: withPolicy,
        run: "remove-network-policy {name} {other} --protocol tcp --port 8080-8090",
        shows: ["Removing network policy from app {name} to app {other}", "OK"],
        effect: async (run) => expect(await policiesOf(run)).toEqual([]),
      },
      {
        name: "one that is not there",
        login: "token",
        given: withPolicy,
        run: "remove-network-policy {name} {other} --protocol udp --port 1",
        shows: ["Policy does not exist."],
        effect: hasPolicy("tcp", 8080, 8090),
      },
    ],
  },
];
