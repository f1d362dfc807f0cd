// `cf` for orgs: orgs, org, create-org, rename-org, delete-org.
import { expect } from "vitest";
import type { CommandCases } from "./support/case.ts";
import { exists, findNamed, getNamed, isGone, lists, makes, to } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";

export const ORG_CASES: readonly CommandCases[] = [
  {
    command: "create-org",
    cases: [
      {
        name: "a new org, by an admin",
        as: "admin",
        run: "create-org {name}",
        shows: ["Creating org {name} as admin...", "OK", "TIP: Use 'cf target -o \"{name}\"' to target new org"],
        effect: exists("organizations", { suspended: false }),
      },
      {
        name: "-q",
        as: "admin",
        given: makes("organization_quotas"),
        run: "create-org {name} -q {name}",
        shows: ["Setting org quota {name} to org {name} as admin...", "OK"],
        async effect(run) {
          const quota = await getNamed(run, "organization_quotas");
          await exists("organizations", { relationships: { quota: to(quota.guid) } })(run);
        },
      },
      {
        name: "-q with a quota that is not there: the org is made, as in CF",
        as: "admin",
        run: "create-org {name} -q no-such-quota",
        refused: ["Organization quota with name 'no-such-quota' not found."],
        effect: exists("organizations"),
      },
      {
        name: "one that is there already",
        as: "admin",
        given: makes("organizations"),
        run: "create-org {name}",
        shows: ["Organization '{name}' already exists.", "OK"],
        effect: exists("organizations"),
      },
      { name: "by a developer", run: "create-org {name}", refused: [FORBIDDEN], effect: isGone("organizations") },
    ],
  },
  {
    command: "orgs",
    cases: [
      {
        name: "by a developer",
        run: "orgs",
        shows: ["Getting orgs as", "name"],
        effect: async (_run, output) => lists(output, "acme"),
      },
      {
        name: "by nobody",
        as: "nobody",
        run: "orgs",
        shows: ["No orgs found."],
        effect: async (_run, output) => expect(output).not.toContain("acme"),
      },
      {
        name: "--labels",
        as: "admin",
        given: makes("organizations", { metadata: { labels: { tier: "one" } } }),
        run: "orgs --labels tier=one",
        async effect(run, output) {
          lists(output, run.name);
          expect(output).not.toMatch(/^acme/m);
        },
      },
    ],
  },
  {
    command: "org",
    cases: [
      {
        name: "by a developer",
        run: "org {org}",
        shows: [
          "Getting info for org {org} as",
          /name:\s+acme/,
          /domains:.*apps\.localhost/,
          /quota:\s+default/,
          /spaces:.*dev/,
          /isolation segments:/,
        ],
        effect: exists("organizations", {}, "acme"),
      },
      {
        name: "--guid",
        run: "org {org} --guid",
        effect: async (run, output) => expect(output.trim()).toBe(run.ground.orgGUID),
      },
      {
        name: "one that is not there",
        run: "org no-such-org",
        refused: ["Organization 'no-such-org' not found.", "FAILED"],
      },
      { name: "by nobody", as: "nobody", run: "org {org}", refused: ["Organization 'acme' not found."] },
    ],
  },
  {
    command: "rename-org",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: makes("organizations"),
        run: "rename-org {name} {name}-new",
        shows: ["Renaming org {name} to {name}-new as admin...", "OK"],
        async effect(run) {
          expect(await findNamed(run, "organizations")).toBeUndefined();
          await exists("organizations", {}, `${run.name}-new`)(run);
        },
      },
      {
        name: "to a name that is taken",
        as: "admin",
        given: makes("organizations"),
        run: "rename-org {name} {org}",
        refused: ["Organization name 'acme' is already taken."],
        effect: exists("organizations"),
      },
      { name: "by an auditor of a space", as: "auditor", run: "rename-org {org} {name}", refused: [FORBIDDEN] },
      {
        name: "one that is not there",
        as: "admin",
        run: "rename-org no-such-org x",
        refused: ["Organization 'no-such-org' not found."],
      },
    ],
  },
  {
    command: "delete-org",
    cases: [
      {
        name: "with its spaces",
        as: "admin",
        async given(run) {
          const org = await makes("organizations")(run);
          await run.ground.api.admin.call("POST", "/v3/spaces", {
            name: "inside",
            relationships: { organization: to(org.guid) },
          });
        },
        run: "delete-org {name} -f",
        shows: ["Deleting org {name} as admin...", "OK"],
        effect: isGone("organizations"),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-org no-such-org -f",
        shows: ["Org 'no-such-org' does not exist.", "OK"],
        effect: isGone("organizations", "no-such-org"),
      },
      {
        name: "no",
        as: "admin",
        given: makes("organizations"),
        run: "delete-org {name}",
        input: "n\n",
        shows: ["Organization '{name}' has not been deleted."],
        effect: exists("organizations"),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        run: "delete-org {org} -f",
        refused: [FORBIDDEN],
        effect: exists("organizations", {}, "acme"),
      },
    ],
  },
];
