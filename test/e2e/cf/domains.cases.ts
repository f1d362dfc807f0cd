// `cf` for domains, private and shared ones.
import { expect } from "vitest";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, lists, makeDomain, makes, read, type Shown } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const domainName = (run: CaseRun): string => `${run.name}.example`;
const domainIs = (members: object) => (run: CaseRun) => exists("domains", members, domainName(run))(run);
const domainGone = (run: CaseRun): Promise<void> => isGone("domains", domainName(run))(run);
const sharedDomain = (run: CaseRun): Promise<Shown> =>
  run.ground.api.admin.call<Shown>("POST", "/v3/domains", { name: domainName(run) });
const orgsOf = async (run: CaseRun): Promise<unknown> => {
  const { guid } = await getNamed(run, "domains", domainName(run));
  return (await read<{ relationships: { shared_organizations: { data: unknown[] } } }>(run, `/v3/domains/${guid}`))
    .relationships.shared_organizations.data;
};

export const DOMAIN_CASES: readonly CommandCases[] = [
  {
    command: "domains",
    cases: [
      {
        name: "by a developer",
        run: "domains",
        shows: ["Getting domains in org {org} as", /name\s+availability\s+internal\s+protocols/],
        effect: async (_run, output) => lists(output, "apps.localhost"),
      },
    ],
  },
  {
    command: "create-private-domain",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        run: "create-private-domain {org} {name}.example",
        shows: [
          "Creating private domain {name}.example for org {org} as",
          "OK",
          "TIP: Domain '{name}.example' is a private domain.",
        ],
        effect: domainIs({ internal: false }),
      },
      {
        name: "by a developer",
        run: "create-private-domain {org} {name}.example",
        refused: [FORBIDDEN],
        effect: domainGone,
      },
      {
        name: "one that is there already",
        as: "admin",
        given: (run) => makeDomain(run),
        run: "create-private-domain {org} {name}.example",
        shows: ['The domain name "{name}.example" is already in use', "OK"],
        effect: domainIs({}),
      },
    ],
  },
  {
    command: "delete-private-domain",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        given: (run) => makeDomain(run),
        run: "delete-private-domain {name}.example -f",
        shows: ["Deleting private domain {name}.example as", "OK"],
        effect: domainGone,
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-private-domain no-such.example -f",
        shows: ["Domain 'no-such.example' does not exist."],
        effect: isGone("domains", "no-such.example"),
      },
      {
        name: "a shared one",
        as: "admin",
        run: "delete-private-domain apps.localhost -f",
        refused: ["Domain 'apps.localhost' is a shared domain, not a private domain."],
        effect: exists("domains", {}, "apps.localhost"),
      },
    ],
  },
  {
    command: "create-shared-domain",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        run: "create-shared-domain {name}.example",
        shows: ["Creating shared domain {name}.example as admin...", "OK", "is shared with all orgs"],
        effect: domainIs({ internal: false }),
      },
      {
        name: "--internal",
        as: "admin",
        run: "create-shared-domain {name}.example --internal",
        shows: ["OK"],
        effect: domainIs({ internal: true }),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        run: "create-shared-domain {name}.example",
        refused: [FORBIDDEN],
        effect: domainGone,
      },
    ],
  },
  {
    command: "delete-shared-domain",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: sharedDomain,
        run: "delete-shared-domain {name}.example -f",
        shows: ["Deleting domain {name}.example as admin...", "OK"],
        effect: domainGone,
      },
      {
        name: "a private one",
        as: "admin",
        given: (run) => makeDomain(run),
        run: "delete-shared-domain {name}.example -f",
        refused: ["is a private domain, not a shared domain."],
        effect: domainIs({}),
      },
    ],
  },
  {
    command: "share-private-domain",
    cases: [
      {
        name: "with another org",
        as: "admin",
        given: async (run) => [await makeDomain(run), await makes("organizations")(run)],
        run: "share-private-domain {name} {name}.example",
        shows: ["Sharing domain {name}.example with org {name} as admin...", "OK"],
        effect: async (run) =>
          expect(await orgsOf(run)).toEqual([{ guid: (await getNamed(run, "organizations")).guid }]),
      },
    ],
  },
  {
    command: "unshare-private-domain",
    cases: [
      {
        name: "from another org",
        as: "admin",
        async given(run) {
          const [domain, org] = [await makeDomain(run), await makes("organizations")(run)];
          await run.ground.api.admin.call("POST", `/v3/domains/${domain.guid}/relationships/shared_organizations`, {
            data: [{ guid: org.guid }],
          });
        },
        run: "unshare-private-domain {name} {name}.example",
        input: "y\n",
        shows: ["Unsharing domain {name}.example from org {name} as admin...", "OK"],
        effect: async (run) => expect(await orgsOf(run)).toEqual([]),
      },
    ],
  },
];
