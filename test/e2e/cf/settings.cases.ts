// `cf` for feature flags and variable groups, and for where cf is: api, target.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { CaseRun, CommandCases } from "./support/case.ts";
import { exists, lists, makes, makeSpace, read, to } from "./support/objects.ts";

const FORBIDDEN = "You are not authorized to perform the requested action";
/** The logged-in user, by cf's configuration of the case. */
function whoIn({ folder }: CaseRun): string {
  const config = JSON.parse(readFileSync(join(`${folder}.cf-case`, ".cf", "config.json"), "utf8")) as {
    CFOnK8s: { AuthInfo: string };
  };
  return config.CFOnK8s.AuthInfo;
}

const flagIs = (name: string, enabled: boolean) => async (run: CaseRun) =>
  expect(await read(run, `/v3/feature_flags/${name}`)).toMatchObject({ enabled });
const setFlag = (name: string, enabled: boolean) => (run: CaseRun) =>
  run.ground.api.admin.call("PATCH", `/v3/feature_flags/${name}`, { enabled });
const variablesOf = async (run: CaseRun, kind: string): Promise<unknown> =>
  (await read<{ var: unknown }>(run, `/v3/environment_variable_groups/${kind}`)).var;

const groupCommands = (kind: "running" | "staging"): CommandCases[] => [
  {
    command: `set-${kind}-environment-variable-group`,
    cases: [
      {
        name: "by an admin",
        alone: true,
        as: "admin",
        run: [`set-${kind}-environment-variable-group`, '{"A":"one","B":"2"}'],
        shows: [`Setting the contents of the ${kind} environment variable group as admin...`, "OK"],
        effect: async (run) => expect(await variablesOf(run, kind)).toEqual({ A: "one", B: "2" }),
      },
      {
        name: "others instead",
        alone: true,
        as: "admin",
        run: [`set-${kind}-environment-variable-group`, '{"C":"x"}'],
        effect: async (run) => expect(await variablesOf(run, kind)).toEqual({ C: "x" }),
      },
      {
        name: "no JSON",
        as: "admin",
        run: [`set-${kind}-environment-variable-group`, "{nope"],
        refused: ["Invalid environment variable group provided. Please provide a valid JSON object."],
      },
      {
        name: "by a developer",
        alone: true,
        run: [`set-${kind}-environment-variable-group`, '{"D":"x"}'],
        refused: [FORBIDDEN],
      },
    ],
  },
  {
    command: `${kind}-environment-variable-group`,
    cases: [
      {
        name: "by a developer",
        alone: true,
        run: `${kind}-environment-variable-group`,
        shows: [`Getting the ${kind} environment variable group as`, /variable name\s+assigned value/, /C\s+x/],
        effect: async (run) => expect(await variablesOf(run, kind)).toEqual({ C: "x" }),
      },
    ],
  },
];

export const SETTING_CASES: readonly CommandCases[] = [
  {
    command: "feature-flags",
    cases: [
      {
        name: "by a developer",
        run: "feature-flags",
        shows: ["Getting feature flags as", /name\s+state/, /diego_docker\s+enabled/, /user_org_creation\s+disabled/],
        effect: async (_run, output) => lists(output, "route_sharing"),
      },
    ],
  },
  {
    command: "feature-flag",
    cases: [
      {
        name: "by a developer",
        run: "feature-flag user_org_creation",
        shows: ["Getting info for feature flag user_org_creation as", /user_org_creation\s+disabled/],
        effect: flagIs("user_org_creation", false),
      },
      {
        name: "one that is not there",
        run: "feature-flag no_such_flag",
        refused: ["Feature flag 'no_such_flag' not found."],
      },
    ],
  },
  {
    command: "enable-feature-flag",
    cases: [
      {
        name: "by an admin",
        alone: true,
        as: "admin",
        given: setFlag("hash_based_routing", false),
        run: "enable-feature-flag hash_based_routing",
        shows: ["Enabling feature flag hash_based_routing as admin...", "OK"],
        effect: flagIs("hash_based_routing", true),
      },
      {
        name: "by a developer",
        run: "enable-feature-flag user_org_creation",
        refused: [FORBIDDEN],
        effect: flagIs("user_org_creation", false),
      },
    ],
  },
  {
    command: "disable-feature-flag",
    cases: [
      {
        name: "by an admin",
        alone: true,
        as: "admin",
        given: setFlag("hash_based_routing", true),
        run: "disable-feature-flag hash_based_routing",
        shows: ["Disabling feature flag hash_based_routing as admin...", "OK"],
        effect: flagIs("hash_based_routing", false),
      },
    ],
  },
  ...groupCommands("running"),
  ...groupCommands("staging"),
  {
    command: "auth",
    cases: [
      {
        name: "another user of the kubeconfig",
        run: "auth auditor",
        shows: ["Authenticating...", "OK"],
        effect: async (run) => expect(whoIn(run)).toBe("auditor"),
      },
      {
        name: "one that the kubeconfig has not",
        run: "auth no-such-user",
        refused: [/no-such-user|unable to authenticate/i],
      },
    ],
  },
  {
    command: "login",
    cases: [
      {
        name: "a user chosen by number",
        run: "login -a {api} -o {org} -s {space}",
        input: "1\n",
        shows: ["API endpoint: {api}", "Authenticating...", "OK", /Targeted space\s+dev/],
        effect: async (run) => expect(whoIn(run)).not.toBe(""),
      },
      {
        name: "an org and a space chosen at prompts",
        run: "login -a {api}",
        input: "1\nacme\ndev\n",
        shows: [/Targeted org\s+acme/, /Targeted space\s+dev/],
        effect: async (run) => expect(whoIn(run)).not.toBe(""),
      },
    ],
  },
  {
    command: "logout",
    cases: [
      {
        name: "somebody who was logged in",
        run: "logout",
        shows: ["Logging out", "OK"],
        effect: async (run) => expect(whoIn(run)).toBe(""),
      },
    ],
  },
  {
    command: "target",
    cases: [
      {
        name: "shows it",
        run: "target",
        shows: [/API endpoint:/, /API version:\s+3\./, /user:/, /org:\s+acme/, /space:\s+dev/],
        effect: exists("organizations", {}, "acme"),
      },
      {
        name: "-o -s",
        as: "admin",
        given: (run) => makeSpace(run),
        run: "target -o {org} -s {name}",
        shows: [/space:\s+target-2/],
        effect: exists("spaces"),
      },
      {
        name: "an org that is not there",
        run: "target -o no-such-org",
        refused: ["Organization 'no-such-org' not found"],
      },
      {
        name: "a space that is not there",
        run: "target -s no-such-space",
        refused: ["Space 'no-such-space' not found."],
      },
      {
        name: "-o, which takes the only space of an org",
        as: "admin",
        async given(run) {
          const { guid } = await makes("organizations")(run);
          await makes("spaces", { name: "only", relationships: { organization: to(guid) } })(run);
        },
        run: "target -o {name}",
        shows: [/org:\s+target-5/, /space:\s+only/],
        effect: exists("spaces", {}, "only"),
      },
    ],
  },
  {
    command: "api",
    cases: [
      {
        name: "shows it",
        run: "api",
        shows: ["API endpoint:", "{api}"],
        effect: async (run, output) => expect(output).toContain(run.ground.stage.url),
      },
      {
        name: "sets it",
        run: "api {api}",
        shows: ["Setting API endpoint to {api}...", "OK"],
        effect: async (run, output) => expect(output).toContain(run.ground.stage.url),
      },
      {
        name: "--unset",
        run: "api --unset",
        shows: ["Unsetting API endpoint...", "OK"],
        effect: async (_run, output) => expect(output).not.toContain("FAILED"),
      },
    ],
  },
];
