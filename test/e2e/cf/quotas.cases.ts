// `cf` for quotas of orgs and of spaces.
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, lists, makes, makeSpace, to } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const ORG_QUOTAS = "organization_quotas";
const SPACE_QUOTAS = "space_quotas";
const orgQuota = makes(ORG_QUOTAS);
const spaceQuota = (run: CaseRun) =>
  makes(SPACE_QUOTAS, { relationships: { organization: to(run.ground.orgGUID) } })(run);
const FLAGS = "-i 256M -m 1G -r 10 -s 3 -a 5 -l 64K --reserved-route-ports 2 --allow-paid-service-plans";
const LIMITS = {
  apps: {
    total_memory_in_mb: 1024,
    per_process_memory_in_mb: 256,
    total_instances: 5,
    log_rate_limit_in_bytes_per_second: 65536,
  },
  services: { paid_services_allowed: true, total_service_instances: 3 },
  routes: { total_routes: 10, total_reserved_ports: 2 },
};
const SHOWN = [
  /total memory:\s+1G/,
  /instance memory:\s+256M/,
  /routes:\s+10/,
  /service instances:\s+3/,
  /paid service plans:\s+allowed/,
  /app instances:\s+5/,
  /route ports:\s+2/,
  /log volume per second:\s+64K/,
];

const ORG_COMMANDS: readonly CommandCases[] = [
  {
    command: "create-org-quota",
    cases: [
      {
        name: "with every limit",
        as: "admin",
        run: `create-org-quota {name} ${FLAGS}`,
        shows: ["Creating org quota {name} as admin...", "OK"],
        effect: exists(ORG_QUOTAS, LIMITS),
      },
      {
        name: "without limits",
        as: "admin",
        run: "create-org-quota {name}",
        effect: exists(ORG_QUOTAS, {
          apps: { total_memory_in_mb: 0, total_instances: null },
          routes: { total_routes: 0 },
        }),
      },
      {
        name: "one that is there already",
        as: "admin",
        given: orgQuota,
        run: "create-org-quota {name}",
        shows: ["Organization Quota '{name}' already exists.", "OK"],
        effect: exists(ORG_QUOTAS),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        run: "create-org-quota {name}",
        refused: [FORBIDDEN],
        effect: isGone(ORG_QUOTAS),
      },
    ],
  },
  {
    command: "org-quotas",
    cases: [
      {
        name: "by a developer",
        run: "org-quotas",
        shows: [
          "Getting org quotas as",
          /name\s+total memory\s+instance memory\s+routes\s+service instances\s+paid service plans\s+app instances\s+route ports\s+log volume per second/,
        ],
        effect: async (_run, output) => lists(output, "default"),
      },
    ],
  },
  {
    command: "org-quota",
    cases: [
      {
        name: "with every limit",
        as: "admin",
        given: makes(ORG_QUOTAS, LIMITS),
        run: "org-quota {name}",
        shows: ["Getting org quota {name} as admin...", ...SHOWN],
        effect: exists(ORG_QUOTAS, LIMITS),
      },
      {
        name: "one that is not there",
        run: "org-quota no-such-quota",
        refused: ["Organization quota with name 'no-such-quota' not found."],
      },
    ],
  },
  {
    command: "update-org-quota",
    cases: [
      {
        name: "every limit",
        as: "admin",
        given: orgQuota,
        run: `update-org-quota {name} ${FLAGS}`,
        shows: ["Updating org quota {name} as admin...", "OK"],
        effect: exists(ORG_QUOTAS, LIMITS),
      },
      {
        name: "-n, and no limit",
        as: "admin",
        given: makes(ORG_QUOTAS, LIMITS),
        run: "update-org-quota {name} -n {name}-new -m -1 --disallow-paid-service-plans",
        effect: (run) =>
          exists(
            ORG_QUOTAS,
            { apps: { total_memory_in_mb: null }, services: { paid_services_allowed: false } },
            `${run.name}-new`,
          )(run),
      },
    ],
  },
  {
    command: "set-org-quota",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: async (run) => [await orgQuota(run), await makes("organizations")(run)],
        run: "set-org-quota {name} {name}",
        shows: ["Setting quota {name} to org {name} as admin...", "OK"],
        effect: async (run) =>
          exists("organizations", { relationships: { quota: to((await getNamed(run, ORG_QUOTAS)).guid) } })(run),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        given: orgQuota,
        run: "set-org-quota {org} {name}",
        refused: [FORBIDDEN],
      },
    ],
  },
  {
    command: "delete-org-quota",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: orgQuota,
        run: "delete-org-quota {name} -f",
        shows: ["Deleting org quota {name} as admin...", "OK"],
        effect: isGone(ORG_QUOTAS),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-org-quota no-such-quota -f",
        shows: ["Organization quota with name 'no-such-quota' not found.", "OK"],
        effect: isGone(ORG_QUOTAS, "no-such-quota"),
      },
      {
        name: "the default one, which orgs have",
        as: "admin",
        run: "delete-org-quota default -f",
        refused: [/Unable to delete the organization quota\. Unassign this quota from all organizations|default/],
        effect: exists(ORG_QUOTAS, {}, "default"),
      },
    ],
  },
];

const SPACE_COMMANDS: readonly CommandCases[] = [
  {
    command: "create-space-quota",
    cases: [
      {
        name: "with every limit, by an org manager",
        as: "org-manager",
        run: `create-space-quota {name} ${FLAGS}`,
        shows: ["Creating space quota {name} for org {org} as", "OK"],
        effect: exists(SPACE_QUOTAS, LIMITS),
      },
      {
        name: "one that is there already",
        as: "admin",
        given: spaceQuota,
        run: "create-space-quota {name}",
        shows: ["Space Quota '{name}' already exists.", "OK"],
        effect: exists(SPACE_QUOTAS),
      },
      { name: "by a developer", run: "create-space-quota {name}", refused: [FORBIDDEN], effect: isGone(SPACE_QUOTAS) },
    ],
  },
  {
    command: "space-quotas",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        given: spaceQuota,
        run: "space-quotas",
        shows: ["Getting space quotas for org {org} as"],
        effect: async (run, output) => lists(output, run.name),
      },
    ],
  },
  {
    command: "space-quota",
    cases: [
      {
        name: "with every limit",
        as: "admin",
        given: (run) =>
          makes(SPACE_QUOTAS, { ...LIMITS, relationships: { organization: to(run.ground.orgGUID) } })(run),
        run: "space-quota {name}",
        shows: ["Getting space quota {name} for org {org} as admin...", ...SHOWN],
        effect: exists(SPACE_QUOTAS, LIMITS),
      },
    ],
  },
  {
    command: "update-space-quota",
    cases: [
      {
        name: "every limit, and -n",
        as: "admin",
        given: spaceQuota,
        run: `update-space-quota {name} ${FLAGS} -n {name}-new`,
        shows: ["Updating space quota {name} for org {org} as admin...", "OK"],
        effect: (run) => exists(SPACE_QUOTAS, LIMITS, `${run.name}-new`)(run),
      },
    ],
  },
  {
    command: "set-space-quota",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: async (run) => [await spaceQuota(run), await makeSpace(run)],
        run: "set-space-quota {name} {name}",
        shows: ["Setting space quota {name} to space {name} as admin...", "OK"],
        effect: async (run) =>
          exists("spaces", { relationships: { quota: to((await getNamed(run, SPACE_QUOTAS)).guid) } })(run),
      },
    ],
  },
  {
    command: "unset-space-quota",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        async given(run) {
          const [quota, space] = [await spaceQuota(run), await makeSpace(run)];
          await run.ground.api.admin.call("POST", `/v3/space_quotas/${quota.guid}/relationships/spaces`, {
            data: [{ guid: space.guid }],
          });
        },
        run: "unset-space-quota {name} {name}",
        shows: ["Unassigning space quota {name} from space {name} as admin...", "OK"],
        effect: exists("spaces", { relationships: { quota: { data: null } } }),
      },
    ],
  },
  {
    command: "delete-space-quota",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        given: spaceQuota,
        run: "delete-space-quota {name} -f",
        shows: ["Deleting space quota {name} for org {org} as", "OK"],
        effect: isGone(SPACE_QUOTAS),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-space-quota no-such-quota -f",
        shows: ["Space quota with name 'no-such-quota' not found.", "OK"],
        effect: isGone(SPACE_QUOTAS, "no-such-quota"),
      },
    ],
  },
];

export const QUOTA_CASES: readonly CommandCases[] = [...ORG_COMMANDS, ...SPACE_COMMANDS];
