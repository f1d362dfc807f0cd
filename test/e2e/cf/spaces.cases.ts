// `cf` for spaces: spaces, space, create-space, rename-space, delete-space, and whether ssh is allowed there.
import { expect } from "vitest";
import type { CommandCases } from "./support/case.ts";
import { exists, getNamed, isGone, lists, makes, makeSpace, read, to, type Shown } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
const rolesIn = async (run: Parameters<typeof read>[0], space: Shown): Promise<string[]> =>
  (await read<{ resources: { type: string }[] }>(run, `/v3/roles?space_guids=${space.guid}`)).resources
    .map(({ type }) => type)
    .sort();

export const SPACE_CASES: readonly CommandCases[] = [
  {
    command: "create-space",
    cases: [
      {
        name: "by an org manager, who gets roles in it",
        as: "org-manager",
        run: "create-space {name}",
        shows: [
          "Creating space {name} in org {org} as",
          "Assigning role SpaceManager",
          "Assigning role SpaceDeveloper",
          "TIP: Use 'cf target",
        ],
        effect: async (run) =>
          expect(await rolesIn(run, await getNamed(run, "spaces"))).toEqual(["space_developer", "space_manager"]),
      },
      {
        name: "-o -q",
        as: "admin",
        given: (run) =>
          run.ground.api.admin.call("POST", "/v3/space_quotas", {
            name: run.name,
            relationships: { organization: to(run.ground.orgGUID) },
          }),
        run: "create-space {name} -o {org} -q {name}",
        shows: ["Setting space quota {name} to space {name} as admin..."],
        async effect(run) {
          const quota = await getNamed(run, "space_quotas");
          await exists("spaces", { relationships: { quota: to(quota.guid) } })(run);
        },
      },
      {
        name: "one that is there already",
        as: "admin",
        run: "create-space {space}",
        shows: ["Space 'dev' already exists.", "OK"],
        effect: exists("spaces", {}, "dev"),
      },
      { name: "by a developer", run: "create-space {name}", refused: [FORBIDDEN], effect: isGone("spaces") },
      {
        name: "in an org that is not there",
        as: "admin",
        run: "create-space {name} -o no-such-org",
        refused: ["Organization 'no-such-org' not found."],
      },
      {
        name: "-q with a quota that is not there",
        as: "admin",
        run: "create-space {name} -q no-such-quota",
        refused: ["Space quota with name 'no-such-quota' not found."],
      },
    ],
  },
  {
    command: "spaces",
    cases: [
      {
        name: "by a developer",
        run: "spaces",
        shows: ["Getting spaces in org {org} as", "name"],
        effect: async (_run, output) => lists(output, "dev"),
      },
      {
        name: "by an org auditor, who has no role in any",
        as: "org-auditor",
        run: "spaces",
        shows: ["No spaces found."],
        effect: exists("spaces", {}, "dev"),
      },
    ],
  },
  {
    command: "space",
    cases: [
      {
        name: "by a developer",
        run: "space {space}",
        shows: [
          "Getting info for space dev in org acme as",
          /name:\s+dev/,
          /org:\s+acme/,
          /apps:/,
          /services:/,
          /isolation segment:/,
          /running security groups:/,
        ],
        effect: exists("spaces", {}, "dev"),
      },
      {
        name: "--guid",
        run: "space {space} --guid",
        effect: async (run, output) => expect(output.trim()).toBe(run.ground.spaceGUID),
      },
      {
        name: "--security-group-rules",
        run: "space {space} --security-group-rules",
        shows: [/security group rules:|No security group rules found/i],
        effect: exists("spaces", {}, "dev"),
      },
      {
        name: "with a quota and an isolation segment",
        as: "admin",
        async given(run) {
          const { admin } = run.ground.api;
          const space = await makeSpace(run);
          const relationships = { organization: to(run.ground.orgGUID), spaces: { data: [{ guid: space.guid }] } };
          await admin.call("POST", "/v3/space_quotas", { name: run.name, relationships });
          const { guid } = await makes("isolation_segments")(run);
          const entitled = `/v3/isolation_segments/${guid}/relationships/organizations`;
          await admin.call("POST", entitled, { data: [{ guid: run.ground.orgGUID }] });
          await admin.call("PATCH", `/v3/spaces/${space.guid}/relationships/isolation_segment`, { data: { guid } });
        },
        run: "space {name}",
        shows: [/quota:\s+space-\d/, /isolation segment:\s+space-\d/],
        effect: exists("space_quotas"),
      },
      { name: "one that is not there", run: "space no-such-space", refused: ["Space 'no-such-space' not found."] },
    ],
  },
  {
    command: "rename-space",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: (run) => makeSpace(run),
        run: "rename-space {name} {name}-new",
        shows: ["Renaming space {name} to {name}-new as admin...", "OK"],
        effect: (run) => exists("spaces", {}, `${run.name}-new`)(run),
      },
      {
        name: "to a name that is taken",
        as: "admin",
        given: (run) => makeSpace(run),
        run: "rename-space {name} dev",
        refused: ["Organization 'acme' already contains a space with name 'dev'."],
        effect: exists("spaces"),
      },
      {
        name: "by a developer",
        run: "rename-space dev {name}",
        refused: [FORBIDDEN],
        effect: exists("spaces", {}, "dev"),
      },
    ],
  },
  {
    command: "delete-space",
    cases: [
      {
        name: "by an org manager",
        as: "org-manager",
        given: (run) => makeSpace(run),
        run: "delete-space {name} -f",
        shows: ["Deleting space {name} in org {org} as", "OK"],
        effect: isGone("spaces"),
      },
      {
        name: "-o",
        as: "admin",
        given: (run) => makeSpace(run),
        run: "delete-space {name} -f -o {org}",
        shows: ["OK"],
        effect: isGone("spaces"),
      },
      {
        name: "one that is not there",
        as: "admin",
        run: "delete-space no-such-space -f",
        shows: ["Space 'no-such-space' does not exist.", "OK"],
        effect: isGone("spaces", "no-such-space"),
      },
      { name: "by a developer", run: "delete-space dev -f", refused: [FORBIDDEN], effect: exists("spaces", {}, "dev") },
    ],
  },
  {
    command: "allow-space-ssh",
    cases: [
      {
        name: "by an admin, after it was off",
        as: "admin",
        async given(run) {
          const { guid } = await makeSpace(run);
          await run.ground.api.admin.call("PATCH", `/v3/spaces/${guid}/features/ssh`, { enabled: false });
        },
        run: "allow-space-ssh {name}",
        shows: ["Enabling ssh support for space {name} as admin...", "OK"],
        effect: async (run) =>
          expect(await read(run, `/v3/spaces/${(await getNamed(run, "spaces")).guid}/features/ssh`)).toMatchObject({
            enabled: true,
          }),
      },
      {
        name: "one that is on already",
        run: "allow-space-ssh dev",
        shows: ["ssh support for space 'dev' is already enabled.", "OK"],
        effect: exists("spaces", {}, "dev"),
      },
    ],
  },
  {
    command: "disallow-space-ssh",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: (run) => makeSpace(run),
        run: "disallow-space-ssh {name}",
        shows: ["Disabling ssh support for space {name} as admin...", "OK"],
        effect: async (run) =>
          expect(await read(run, `/v3/spaces/${(await getNamed(run, "spaces")).guid}/features/ssh`)).toMatchObject({
            enabled: false,
          }),
      },
    ],
  },
  {
    command: "space-ssh-allowed",
    cases: [
      {
        name: "a new space",
        run: "space-ssh-allowed dev",
        shows: ["ssh support is enabled in space 'dev'."],
        effect: exists("spaces", {}, "dev"),
      },
    ],
  },
];
