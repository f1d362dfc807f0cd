// The Terraform provider of Cloud Foundry, by a real terraform or opentofu, with a token login: applies, plans without a difference, changes, destroys. By name: `npm run e2e -- terraform`.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { eventually } from "../eventually.ts";
import { apiAt, tokenOf, type Page } from "./support/api.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

/** A terraform or opentofu, and a folder with the provider's binary: neither comes from a registry that every machine reaches. */
const { TERRAFORM, TERRAFORM_PROVIDER } = process.env;
const PROVIDER = "terraform-provider-cloudfoundry";
const HELLO = join(import.meta.dirname, "..", "..", "examples", "hello");
const CONFIGURATION = join(import.meta.dirname, "clients", "terraform", "main.tf");
const DEADLINE_MS = 400_000;
/** `plan -detailed-exitcode` ends so where nothing is to change. */
const NO_DIFFERENCE = 0;

describe.skipIf(whyNot())(`the Terraform provider${whyNot() ?? ""}`, { timeout: DEADLINE_MS }, () => {
  let stage: TestPlatform;
  let folder: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    folder = join(stage.home, "terraform");
    mkdirSync(folder);
    copyFileSync(CONFIGURATION, join(folder, "main.tf"));
    writeFileSync(
      join(folder, "tofurc"),
      `provider_installation {\n  dev_overrides {\n    "cloudfoundry/cloudfoundry" = "${TERRAFORM_PROVIDER}"\n  }\n  direct {}\n}\n`,
    );
    const files = ["server.js", "package.json"].map((name) => join(HELLO, name));
    await expectDone(
      runCommand(["python3", "-m", "zipfile", "-c", "bits.zip", ...files], { cwd: folder, deadlineMs: DEADLINE_MS }),
    );
  }, DEADLINE_MS);
  afterAll(() => stage?.stop());

  async function expectDone(running: Promise<CommandResult>): Promise<string> {
    const { code, output } = await running;
    expect(code, output).toBe(0);
    return output;
  }

  const terraform = (command: string, ...args: string[]): Promise<CommandResult> =>
    runCommand([TERRAFORM ?? "", command, "-no-color", "-input=false", ...args], {
      cwd: folder,
      deadlineMs: DEADLINE_MS,
      env: {
        TF_CLI_CONFIG_FILE: join(folder, "tofurc"),
        CHECKPOINT_DISABLE: "1",
        CF_API_URL: `http://127.0.0.1:${stage.port}`,
        CF_USER: "admin",
        CF_PASSWORD: tokenOf(stage, "admin"),
        CF_SKIP_SSL_VALIDATION: "true",
        TF_VAR_bits: join(folder, "bits.zip"),
        HOME: folder,
      },
    });
  const withSuffix = (suffix: string): string => `-var=suffix=${suffix}`;

  async function expectNoDifference(suffix: string): Promise<void> {
    const { code, output } = await terraform("plan", "-detailed-exitcode", withSuffix(suffix));
    expect(code, output).toBe(NO_DIFFERENCE);
  }

  test("applies a configuration, whose next plan has no difference", async () => {
    await expectDone(terraform("apply", "-auto-approve", withSuffix("")));
    await eventually(async () =>
      expect(await stage.get("terraform-shop.apps.localhost")).toMatchObject({ status: 200 }),
    );
    await expectNoDifference("");
  });

  test("changes an app, and only that", async () => {
    const output = await expectDone(terraform("apply", "-auto-approve", withSuffix("-again")));
    expect(output).toContain("0 added, 1 changed, 0 destroyed");
    await expectNoDifference("-again");
  });

  test("destroys all that it made", async () => {
    await expectDone(terraform("destroy", "-auto-approve", withSuffix("-again")));
    const api = apiAt(stage.url, tokenOf(stage, "admin"));
    for (const path of ["organizations", "organization_quotas", "security_groups", "domains"]) {
      const { resources } = await api.call<Page<{ name: string }>>("GET", `/v3/${path}`);
      expect(resources.filter(({ name }) => name.startsWith("terraform"))).toEqual([]);
    }
  });
});

function whyNot(): string | undefined {
  if (TERRAFORM === undefined || TERRAFORM_PROVIDER === undefined)
    return `: not run, without TERRAFORM (a terraform or opentofu) and TERRAFORM_PROVIDER (a folder with ${PROVIDER})`;
  if (!existsSync(join(TERRAFORM_PROVIDER, PROVIDER)))
    return `: not run, since ${TERRAFORM_PROVIDER} has no ${PROVIDER}`;
  return undefined;
}
