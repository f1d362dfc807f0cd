// `cf` with a token of Kubernetes instead of a kubeconfig: login, auth, oauth-token, logout, and other commands with such a login.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { expect } from "vitest";
import { answers, makeApp } from "./support/apps.ts";
import type { CaseRun, CommandCases } from "./support/case.ts";
import type { Who } from "./support/who.ts";

/** The user and token of somebody as `{user}` and `{token}`. */
const known =
  (who: Who = "developer") =>
  (run: CaseRun): Promise<void> => {
    run.values["user"] = run.ground.users[who];
    run.values["token"] = run.ground.tokens[who] ?? "";
    return Promise.resolve();
  };

type Config = Record<"AccessToken" | "RefreshToken", string>;

/** The case's own CF_HOME, where cf has run. */
const homeOf = (run: CaseRun): string => `${run.folder}.cf-case`;
const configOf = (run: CaseRun): Config =>
  JSON.parse(readFileSync(join(homeOf(run), ".cf", "config.json"), "utf8")) as Config;

async function inOwnHome(run: CaseRun, ...args: string[]): Promise<string> {
  const { code, output } = await run.ground.runCf(homeOf(run), { args, cwd: run.folder });
  expect(code, output).toBe(0);
  return output;
}

/** Fails unless the case's login is good for requests. */
async function isLoggedIn(run: CaseRun): Promise<void> {
  expect(await inOwnHome(run, "orgs")).toContain(run.values["org"]);
}

/** Makes cf's access token one whose time is over: cf reads its end, and the API refuses it. */
function endAccessToken(run: CaseRun): Promise<void> {
  const file = join(homeOf(run), ".cf", "config.json");
  const config = configOf(run);
  const [header = "", payload = "", signature = ""] = config.AccessToken.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  const ended = Buffer.from(JSON.stringify({ ...claims, exp: 1 })).toString("base64url");
  writeFileSync(file, JSON.stringify({ ...config, AccessToken: [header, ended, signature].join(".") }));
  return Promise.resolve();
}

async function whoIs(authorization: string, run: CaseRun): Promise<unknown> {
  const answer = await request(`${run.ground.stage.url}/whoami`, { headers: { authorization } });
  return answer.body.json();
}

const REJECTED = "Kubernetes does not accept this token, or it is another user's.";

export const TOKEN_LOGIN_CASES: readonly CommandCases[] = [
  {
    command: "login",
    cases: [
      {
        name: "-u -p with a token of Kubernetes",
        given: known(),
        run: "login -a {loginAPI} -u {user} -p {token} -o {org} -s {space} --skip-ssl-validation",
        shows: ["API endpoint: {loginAPI}", "Authenticating...", "OK", /Targeted space\s+dev/, "{user}"],
        effect: isLoggedIn,
      },
      {
        name: "a user name and a token at prompts",
        given: known(),
        run: "login -a {loginAPI} -o {org} -s {space} --skip-ssl-validation",
        input: "{user}\n{token}\n",
        shows: ["User name in Kubernetes", "Token of Kubernetes", "OK"],
        effect: isLoggedIn,
      },
      {
        name: "another user's token",
        given: known("auditor"),
        run: "login -a {loginAPI} -u admin -p {token} --skip-ssl-validation",
        refused: [REJECTED],
      },
    ],
  },
  {
    command: "auth",
    cases: [
      {
        name: "a user and a token",
        login: "token",
        given: known("auditor"),
        run: "auth {user} {token}",
        shows: ["Authenticating...", "OK", "Use 'cf target' to view or set your target org and space."],
        effect: async (run) =>
          expect(await whoIs(configOf(run).AccessToken, run)).toMatchObject({ name: run.values["user"] }),
      },
      {
        name: "--client-credentials",
        login: "token",
        given: async (run) => {
          await inOwnHome(run, "logout");
          await known("auditor")(run);
        },
        run: "auth {user} {token} --client-credentials",
        shows: ["Authenticating...", "OK"],
        effect: isLoggedIn,
      },
      {
        name: "--assertion",
        login: "token",
        given: known("auditor"),
        run: "auth --assertion {token}",
        shows: ["Authenticating...", "OK"],
        effect: isLoggedIn,
      },
      {
        name: "a token that nobody has",
        login: "token",
        given: known(),
        run: "auth {user} no-such-token",
        refused: [REJECTED],
      },
    ],
  },
  {
    command: "oauth-token",
    cases: [
      {
        name: "a token that opens requests",
        login: "token",
        run: "oauth-token",
        shows: [/^bearer [\w-]+\.[\w-]+\.[\w-]+$/m],
        effect: async (run, output) => {
          const token = /^bearer .*$/m.exec(output)?.[0] ?? "";
          expect(await whoIs(token, run)).toMatchObject({ name: run.ground.users.developer });
        },
      },
      {
        name: "somebody who is not logged in",
        login: "token",
        given: (run) => inOwnHome(run, "logout"),
        run: "oauth-token",
        refused: ["Not logged in"],
      },
    ],
  },
  {
    command: "logout",
    cases: [
      {
        name: "of a token login",
        login: "token",
        run: "logout",
        shows: ["Logging out", "OK"],
        effect: (run) => {
          expect(configOf(run)).toMatchObject({ AccessToken: "", RefreshToken: "" });
          return Promise.resolve();
        },
      },
    ],
  },
  {
    command: "orgs",
    cases: [
      {
        name: "with an access token that has ended, which cf refreshes",
        login: "token",
        given: endAccessToken,
        run: "orgs",
        shows: ["{org}"],
        effect: async (run) =>
          expect(await whoIs(configOf(run).AccessToken, run)).toMatchObject({ name: run.ground.users.developer }),
      },
    ],
  },
  {
    command: "set-space-role",
    cases: [
      {
        name: "by an admin's token login",
        as: "admin",
        login: "token",
        run: "set-space-role somebody-new {org} {space} SpaceAuditor",
        shows: ["Assigning role SpaceAuditor to user somebody-new", "OK"],
        effect: async (run) => {
          const { resources } = await run.ground.api.admin.call<{ resources: { type: string }[] }>(
            "GET",
            "/v3/roles?user_guids=somebody-new&types=space_auditor",
          );
          expect(resources).toHaveLength(1);
        },
      },
    ],
  },
  {
    command: "push",
    cases: [
      {
        name: "with a token login",
        login: "token",
        run: "push {name} -p {hello}",
        shows: [/#0\s+running/],
        effect: async (run) => expect(await answers(run, 200)).not.toBe(""),
      },
    ],
  },
  {
    command: "logs",
    cases: [
      {
        name: "with a token login",
        login: "token",
        given: (run) => makeApp(run),
        run: "logs {name} --recent",
        shows: [/\[APP\/PROC\/WEB\/0\]/],
        effect: async (run) => expect(await answers(run, 200)).not.toBe(""),
      },
    ],
  },
];
