// An existing issuer: users and clients of a stock UAA, whom a real kube-apiserver trusts, log in with stock `cf`. By name: `npm run e2e -- uaa`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { stringify } from "yaml";
import { ADMIN_CLUSTER_ROLE } from "../../crds/roles.ts";
import { ClusterRoleBinding } from "../../kube/api/builtin.ts";
import { createClient } from "../../kube/client/create-client.ts";
import { whyNoControlPlane } from "../cluster/binaries.ts";
import { runCommand } from "../../scripts/run-command.ts";
import { eventually } from "../eventually.ts";
import { obtainUAA, startUAA, type UAA } from "./clients/uaa.ts";
import { whyNoCf } from "./support/cf.ts";
import { startReplicatedPlatform } from "./support/replicated-platform.ts";
import type { CommandResult } from "./support/test-platform.ts";

const PASSWORDS = { ann: "koala", bob: "wombat" };
const CLIENTS = { deployer: "s3cret" };
const START_MS = 1_500_000;

const whyNot = whyNoControlPlane() ?? whyNoCf();
describe.skipIf(whyNot)(`users of a UAA${whyNot ? `: not run, ${whyNot}` : ""}`, { timeout: 300_000 }, () => {
  let folder: string;
  let missing: string | undefined;
  let uaa: UAA | undefined;
  let platform: Awaited<ReturnType<typeof startReplicatedPlatform>> | undefined;
  let api: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "cupola-uaa-"));
    missing = await obtainUAA(folder);
    if (missing) return;
    uaa = await startUAA(folder, { users: PASSWORDS, clients: CLIENTS });
    const settings = join(folder, "authentication.yaml");
    writeFileSync(settings, stringify(trust(uaa)));
    platform = await startReplicatedPlatform({
      apiserverFlags: [`--authentication-config=${settings}`],
      replicaArgs: ["--token-login-hosts=127.0.0.1", `--login-url=${uaa.url}`, `--uaa-url=${uaa.url}`],
    });
    api = `http://127.0.0.1:${platform.base.port}`;
    await makeAdmin("uaa:ann");
  }, START_MS);
  afterAll(async () => {
    await platform?.base.stop();
    await uaa?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function makeAdmin(user: string): Promise<void> {
    const { url, ca, adminToken } = platform!.plane;
    const client = createClient({ server: url, ca, auth: { kind: "token", token: adminToken } });
    const apiGroup = "rbac.authorization.k8s.io";
    await client.create(ClusterRoleBinding, {
      metadata: { name: "uaa-admin" },
      roleRef: { apiGroup, kind: "ClusterRole", name: ADMIN_CLUSTER_ROLE },
      subjects: [{ apiGroup, kind: "User", name: user }],
    });
    await client.close();
  }

  /** Stock `cf` of one person. */
  function cfOf(context: TestContext, person: string): (...args: string[]) => Promise<CommandResult> {
    if (missing) context.skip(missing);
    const home = join(folder, person);
    mkdirSync(home, { recursive: true });
    return (...args) =>
      runCommand([process.env["CF_BIN"] ?? "cf", ...args], {
        cwd: home,
        deadlineMs: 120_000,
        env: { CF_HOME: home, CF_COLOR: "false", LANG: "en_US.UTF-8" },
      });
  }
  async function done(running: Promise<CommandResult>): Promise<string> {
    const { code, output } = await running;
    expect(code, output).toBe(0);
    return output;
  }
  const target = (cf: ReturnType<typeof cfOf>): Promise<string> => done(cf("api", api, "--skip-ssl-validation"));

  test("an admin logs in by a password, makes an org, and grants roles to others", async (context) => {
    const cf = cfOf(context, "ann");
    await target(cf);
    await done(cf("auth", "ann", PASSWORDS.ann));
    // The API learns of a new administrator a moment later.
    await eventually(() => done(cf("create-org-quota", "small")), 60_000);
    await done(cf("create-org", "company"));
    await done(cf("create-space", "dev", "-o", "company"));
    await done(cf("set-space-role", "bob", "company", "dev", "SpaceDeveloper"));
    await done(cf("set-space-role", "uaa:deployer", "company", "dev", "SpaceDeveloper", "--origin", "kubernetes"));
    await done(cf("set-space-role", "bob", "company", "dev", "SpaceAuditor"));
    await done(cf("unset-space-role", "bob", "company", "dev", "SpaceAuditor"));
    expect(await done(cf("space-users", "company", "dev"))).toContain("bob (uaa)");
  });

  test("a developer logs in, refreshes the token, and makes an app, but no org", async (context) => {
    const cf = cfOf(context, "bob");
    await target(cf);
    await done(cf("login", "-u", "bob", "-p", PASSWORDS.bob, "-o", "company", "-s", "dev"));
    expect(await done(cf("oauth-token"))).toContain("bearer ");
    await done(cf("create-app", "shop"));
    expect(await done(cf("apps"))).toContain("shop");
    expect((await cf("create-org", "own")).output).toContain("not authorized");
  });

  test("a client logs in with its secret", async (context) => {
    const cf = cfOf(context, "deployer");
    await target(cf);
    await done(cf("auth", "deployer", CLIENTS.deployer, "--client-credentials"));
    await done(cf("target", "-o", "company", "-s", "dev"));
    expect(await done(cf("apps"))).toContain("shop");
  });

  test("a wrong password, and a token of another issuer, are refused", async (context) => {
    const cf = cfOf(context, "eve");
    await target(cf);
    expect((await cf("auth", "bob", "guess")).code).toBe(1);
    const token = (await done(cfOf(context, "bob")("oauth-token"))).trim().split(/\s/).at(-1) ?? "";
    const answer = async (bearer: string): Promise<number> =>
      (
        await fetch(`${api}/v3/apps`, {
          headers: { authorization: `bearer ${bearer}` },
          signal: AbortSignal.timeout(20_000),
        })
      ).status;
    expect(await answer(token)).toBe(200);
    const [head = "", body = "", signature = ""] = token.split(".");
    const ann = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...ann, user_name: "ann" })).toString("base64url");
    expect(await answer([head, forged, signature].join("."))).toBe(401);
  });
});

/** As docs/security.md says it. */
function trust({ url, ca }: UAA): object {
  return {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [
      {
        issuer: { url: `${url}/oauth/token`, certificateAuthority: ca, audiences: ["cloud_controller"] },
        claimMappings: {
          username: { expression: '"uaa:" + (has(claims.user_name) ? claims.user_name : claims.client_id)' },
          uid: { expression: "has(claims.user_id) ? claims.user_id : claims.client_id" },
        },
      },
    ],
  };
}
