// `cf` for roles and users.
import { expect } from "vitest";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { read } from "./support/objects.ts";
import type { Who } from "./support/who.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";

/** Types of the roles that somebody has in the cases' org and space. */
async function rolesOf(run: CaseRun, user: string): Promise<string[]> {
  const { resources } = await read<{ resources: { type: string }[] }>(run, `/v3/roles?user_guids=${user}&per_page=100`);
  return resources.map(({ type }) => type).sort();
}

/** An effect: the user named like the case has these roles. */
const hasRoles =
  (...types: string[]) =>
  async (run: CaseRun) =>
    expect(await rolesOf(run, run.name)).toEqual(types.sort());

const grant = (type: string, where: "organization" | "space") => async (run: CaseRun) => {
  const { orgGUID, spaceGUID, api } = run.ground;
  const user = { data: { guid: run.name } };
  const organization = { data: { guid: orgGUID } };
  await api.admin.call("POST", "/v3/users", { guid: run.name }).catch(() => undefined);
  await api.admin.call("POST", "/v3/roles", { type: "organization_user", relationships: { user, organization } });
  if (type === "organization_user") return;
  const place = where === "space" ? { space: { data: { guid: spaceGUID } } } : { organization };
  await api.admin.call("POST", "/v3/roles", { type, relationships: { user, ...place } });
};
const member = grant("organization_user", "organization");
const nameOf = (who: Who) => (run: CaseRun) => Promise.resolve((run.values["who"] = run.ground.users[who]));

export const ROLE_CASES: readonly CommandCases[] = [
  {
    command: "set-org-role",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: member,
        run: "set-org-role {name} {org} OrgAuditor",
        shows: ["Assigning role OrgAuditor to user {name} in org {org} as admin...", "OK"],
        effect: hasRoles("organization_auditor", "organization_user"),
      },
      {
        name: "twice",
        as: "admin",
        given: grant("organization_manager", "organization"),
        run: "set-org-role {name} {org} OrgManager",
        shows: ["User '{name}' already has role 'OrgManager' in org 'acme'.", "OK"],
        effect: hasRoles("organization_manager", "organization_user"),
      },
      {
        name: "by an org manager",
        as: "org-manager",
        given: member,
        run: "set-org-role {name} {org} BillingManager",
        shows: ["OK"],
        effect: hasRoles("organization_billing_manager", "organization_user"),
      },
      {
        name: "by a developer",
        given: member,
        run: "set-org-role {name} {org} OrgManager",
        refused: [FORBIDDEN],
        effect: hasRoles("organization_user"),
      },
      {
        name: "a role that does not exist",
        as: "admin",
        run: "set-org-role {name} {org} OrgKing",
        refused: [/ROLE must be "OrgManager", "BillingManager" and "OrgAuditor"|Incorrect Usage/],
      },
    ],
  },
  {
    command: "unset-org-role",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: grant("organization_auditor", "organization"),
        run: "unset-org-role {name} {org} OrgAuditor",
        shows: ["Removing role OrgAuditor from user {name} in org {org} as admin...", "OK"],
        effect: hasRoles("organization_user"),
      },
      {
        name: "one that the user does not have",
        as: "admin",
        given: member,
        run: "unset-org-role {name} {org} OrgAuditor",
        shows: ["OK"],
        effect: hasRoles("organization_user"),
      },
    ],
  },
  {
    command: "set-space-role",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: member,
        run: "set-space-role {name} {org} {space} SpaceDeveloper",
        shows: ["Assigning role SpaceDeveloper to user {name} in org {org} / space {space} as admin...", "OK"],
        effect: hasRoles("organization_user", "space_developer"),
      },
      {
        name: "by a manager of the space",
        as: "manager",
        given: member,
        run: "set-space-role {name} {org} {space} SpaceSupporter",
        shows: ["OK"],
        effect: hasRoles("organization_user", "space_supporter"),
      },
      {
        name: "twice",
        as: "admin",
        given: grant("space_auditor", "space"),
        run: "set-space-role {name} {org} {space} SpaceAuditor",
        shows: ["already has role 'SpaceAuditor' in org 'acme' / space 'dev'."],
        effect: hasRoles("organization_user", "space_auditor"),
      },
      {
        name: "by a developer",
        given: member,
        run: "set-space-role {name} {org} {space} SpaceManager",
        refused: [FORBIDDEN],
        effect: hasRoles("organization_user"),
      },
    ],
  },
  {
    command: "unset-space-role",
    cases: [
      {
        name: "by an admin",
        as: "admin",
        given: grant("space_manager", "space"),
        run: "unset-space-role {name} {org} {space} SpaceManager",
        shows: ["Removing role SpaceManager from user {name} in org {org} / space {space} as admin...", "OK"],
        effect: hasRoles("organization_user"),
      },
    ],
  },
  {
    command: "org-users",
    cases: [
      {
        name: "by a developer",
        given: nameOf("org-manager"),
        run: "org-users {org}",
        shows: ["Getting users in org {org} as", "ORG MANAGER", "{who}", "BILLING MANAGER", "ORG AUDITOR"],
        effect: async (run, output) => expect(output).toContain(run.values["who"]),
      },
      {
        name: "--all-users",
        given: member,
        run: "org-users {org} --all-users",
        shows: ["ORG USERS", "{name}"],
        effect: hasRoles("organization_user"),
      },
      {
        name: "of an org that is not there",
        run: "org-users no-such-org",
        refused: ["Organization 'no-such-org' not found."],
      },
    ],
  },
  {
    command: "space-users",
    cases: [
      {
        name: "by a developer",
        given: nameOf("supporter"),
        run: "space-users {org} {space}",
        shows: [
          "Getting users in org {org} / space {space} as",
          "SPACE MANAGER",
          "SPACE DEVELOPER",
          "SPACE AUDITOR",
          "SPACE SUPPORTER",
          "{who}",
        ],
        effect: async (run, output) => expect(output).toContain(run.values["who"]),
      },
    ],
  },
];
