// `cf` for security groups.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, lists, makes } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const GROUPS = "security_groups";
const group = makes(GROUPS);
const rules = [
  { protocol: "tcp", destination: "10.0.11.0/24", ports: "80,443", description: "web" },
  { protocol: "all", destination: "10.1.0.1-10.1.0.9" },
];
const rulesFile = async (run: CaseRun): Promise<void> => {
  run.values["rules"] = join(run.folder, "rules.json");
  writeFileSync(run.values["rules"], JSON.stringify(rules));
};
const globally = (running: boolean, staging: boolean) => exists(GROUPS, { globally_enabled: { running, staging } });
const withGlobal = (enabled: object) => (run: CaseRun) => makes(GROUPS, { globally_enabled: enabled })(run);
/** The group's controller lets everybody read it, a moment after it was made. */
const readableByDeveloper = (enabled: object) => async (run: CaseRun) => {
  const { guid } = await withGlobal(enabled)(run);
  await eventually(() => run.ground.api.developer.call("GET", `/v3/security_groups/${guid}`));
};
const boundTo = (lifecycle: "running" | "staging", count: number) => async (run: CaseRun) => {
  const found = (await getNamed(run, GROUPS))["relationships"] as Record<string, { data: unknown[] }>;
  expect(found[`${lifecycle}_spaces`]?.data).toHaveLength(count);
};
const bound = (lifecycle: "running" | "staging") => async (run: CaseRun) => {
  const { guid } = await group(run);
  await run.ground.api.admin.call("POST", `/v3/security_groups/${guid}/relationships/${lifecycle}_spaces`, {
    data: [{ guid: run.ground.spaceGUID }],
  });
};

export const SECURITY_GROUP_CASES: readonly CommandCases[] = [
  {
    command: "create-security-group",
    cases: [
      {
        name: "with rules",
        as: "admin",
        given: rulesFile,
        run: "create-security-group {name} {rules}",
        shows: ["Creating security group {name} as admin...", "OK"],
        effect: exists(GROUPS, { rules }),
      },
      {
        name: "one that is there already",
        as: "admin",
        given: async (run) => [await rulesFile(run), await group(run)],
        run: "create-security-group {name} {rules}",
        shows: ["Security group with name '{name}' already exists.", "OK"],
        effect: exists(GROUPS, { rules: [] }),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        given: rulesFile,
        run: "create-security-group {name} {rules}",
        refused: [FORBIDDEN],
        effect: isGone(GROUPS),
      },
    ],
  },
  {
    command: "security-groups",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: bound("running"),
        run: "security-groups",
        shows: [
          "Getting security groups as admin...",
          /name\s+organization\s+space\s+lifecycle/,
          /security-groups-1\s+acme\s+dev\s+running/,
        ],
        effect: boundTo("running", 1),
      },
    ],
  },
  {
    command: "security-group",
    cases: [
      {
        name: "with rules",
        as: "admin",
        given: makes(GROUPS, { rules }),
        run: "security-group {name}",
        shows: [
          "Getting info for security group {name} as admin...",
          /name:\s+security-group-1/,
          '"destination": "10.0.11.0/24"',
          "No spaces assigned",
        ],
        effect: exists(GROUPS),
      },
      {
        name: "with a space",
        as: "admin",
        given: bound("running"),
        run: "security-group {name}",
        shows: [/acme\s+dev/],
        effect: boundTo("running", 1),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "security-group no-such-group",
        refused: ["Security group 'no-such-group' not found."],
      },
    ],
  },
  {
    command: "update-security-group",
    cases: [
      {
        name: "other rules",
        as: "admin",
        given: async (run) => [await rulesFile(run), await group(run)],
        run: "update-security-group {name} {rules}",
        shows: ["Updating security group {name} as admin...", "OK"],
        effect: exists(GROUPS, { rules }),
      },
    ],
  },
  {
    command: "delete-security-group",
    cases: [
      {
        name: "one that a space has",
        as: "admin",
        given: bound("running"),
        run: "delete-security-group {name} -f",
        shows: ["Deleting security group {name} as admin...", "OK"],
        effect: isGone(GROUPS),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-security-group no-such-group -f",
        shows: ["Security group 'no-such-group' does not exist.", "OK"],
        effect: isGone(GROUPS, "no-such-group"),
      },
    ],
  },
  {
    command: "bind-security-group",
    cases: [
      {
        name: "--space",
        as: "admin",
        given: group,
        run: "bind-security-group {name} {org} --space {space}",
        shows: ["Assigning running security group {name} to space {space} in org {org} as admin...", "OK"],
        effect: boundTo("running", 1),
      },
      {
        name: "--lifecycle staging",
        as: "admin",
        given: group,
        run: "bind-security-group {name} {org} --space {space} --lifecycle staging",
        shows: ["Assigning staging security group"],
        effect: boundTo("staging", 1),
      },
      {
        name: "all spaces of an org",
        alone: true,
        as: "admin",
        given: group,
        run: "bind-security-group {name} {org}",
        shows: ["Assigning running security group {name} to all spaces in org {org} as admin...", /to spaces .*dev/],
        effect: exists(GROUPS),
      },
    ],
  },
  {
    command: "unbind-security-group",
    cases: [
      {
        name: "from a space",
        as: "admin",
        given: bound("running"),
        run: "unbind-security-group {name} {org} {space}",
        shows: ["Unbinding running security group {name} from org {org} / space {space} as admin...", "OK"],
        effect: boundTo("running", 0),
      },
      {
        name: "--lifecycle staging",
        as: "admin",
        given: bound("staging"),
        run: "unbind-security-group {name} {org} {space} --lifecycle staging",
        shows: ["OK"],
        effect: boundTo("staging", 0),
      },
    ],
  },
  {
    command: "bind-running-security-group",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: group,
        run: "bind-running-security-group {name}",
        shows: ["Binding security group {name} to running as admin...", "OK"],
        effect: globally(true, false),
      },
    ],
  },
  {
    command: "bind-staging-security-group",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: group,
        run: "bind-staging-security-group {name}",
        shows: ["Binding security group {name} to staging as admin...", "OK"],
        effect: globally(false, true),
      },
    ],
  },
  {
    command: "unbind-running-security-group",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: withGlobal({ running: true }),
        run: "unbind-running-security-group {name}",
        shows: ["Unbinding security group {name} from defaults for running as admin...", "OK"],
        effect: globally(false, false),
      },
    ],
  },
  {
    command: "unbind-staging-security-group",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: withGlobal({ staging: true }),
        run: "unbind-staging-security-group {name}",
        shows: ["Unbinding security group {name} from defaults for staging as admin...", "OK"],
        effect: globally(false, false),
      },
    ],
  },
  {
    command: "running-security-groups",
    cases: [
      {
        name: "by a developer",
        given: readableByDeveloper({ running: true }),
        run: "running-security-groups",
        shows: ["Getting global running security groups as"],
        effect: async (run, output) => lists(output, run.name),
      },
    ],
  },
  {
    command: "staging-security-groups",
    cases: [
      {
        name: "by a developer",
        given: readableByDeveloper({ staging: true }),
        run: "staging-security-groups",
        shows: ["Getting global staging security groups as"],
        effect: async (run, output) => lists(output, run.name),
      },
    ],
  },
];
