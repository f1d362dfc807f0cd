// Messages of `cup` about wrong apps and command lines: golden files, whose last line is a next step that works. `npm test` runs the quick ones, `npm run e2e -- broken-pushes` all.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { BROKEN_APPS, normalise, writeFiles, type BrokenApp, type Workplace } from "./broken-pushes/broken-apps.ts";
import { startPrivateRegistry, type PrivateRegistry } from "./broken-pushes/private-registry.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { CommandResult, TestPlatform } from "./support/test-platform.ts";

const CUP = join(import.meta.dirname, "..", "..", "cli", "cup.ts");
const isNamed = (process.env["CUPOLA_E2E_NAMES"] ?? "") !== "";
const isOnNode = chosenPlatformKind() === "node";
const apps = BROKEN_APPS.filter(({ quick }) => quick === true || isNamed);
/** A push to a node builds in a pod, and there are two of them. */
const TEST_MS = isOnNode ? 300_000 : 120_000;

/** A node builds and runs images, and says some things in other words. */
function goldenOf({ name, ownWordsOnNode }: BrokenApp): string {
  return `broken-pushes/${name}${isOnNode && ownWordsOnNode ? ".node" : ""}.golden.txt`;
}

describe.skipIf(chosenPlatformKind() === "cluster")("cup push of a broken app", () => {
  let stage: TestPlatform;
  let registry: PrivateRegistry | undefined;
  const before = process.env["NODE_EXTRA_CA_CERTS"];

  beforeAll(async () => {
    stage = await startTestPlatform();
    if (isOnNode) await stage.cupJson("login", "--api", stage.url);
    if (isNamed && !isOnNode) registry = await startPrivateRegistry();
  });
  afterAll(async () => {
    registry?.close();
    await stage?.stop();
  });

  function workplaceOf({ name, command, args = [] }: BrokenApp): Workplace & { first(): Promise<CommandResult> } {
    const folder = join(stage.home, "apps", name);
    const run = (...program: [string, ...string[]]): Promise<CommandResult> =>
      runCommand(program, {
        cwd: folder,
        deadlineMs: TEST_MS - 20_000,
        env: {
          CUPOLA_HOME: stage.home,
          CUP_HOME: join(stage.home, "cup"),
          ...(isOnNode && { KUBECONFIG: stage.kubeconfig }),
          NO_COLOR: "1",
          PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
        },
      });
    const cup = (...words: string[]): Promise<CommandResult> => run(process.execPath, CUP, ...words);
    const push = (...more: string[]): Promise<CommandResult> => cup("push", name, "-t", "60", ...more);
    const memory = ["-m", "128M"];
    return {
      name,
      folder,
      cup,
      run,
      push: (...more) => push(...(more.includes("-m") ? [] : memory), ...more),
      first: () => (command ? cup(...command) : push(...(args.includes("-m") ? [] : memory), ...args)),
      async restart() {
        const file = join(stage.home, "company-ca.pem");
        writeFileSync(file, registry?.authority ?? "");
        await cup("local", "stop");
        process.env["NODE_EXTRA_CA_CERTS"] = file;
        await stage.start().finally(() => {
          if (before === undefined) delete process.env["NODE_EXTRA_CA_CERTS"];
          else process.env["NODE_EXTRA_CA_CERTS"] = before;
        });
      },
    };
  }

  test.for(apps)("$name", { timeout: TEST_MS }, async (app, { skip }) => {
    if (isOnNode && app.laptopOnly !== undefined) skip(app.laptopOnly);
    const place = workplaceOf(app);
    const port = String(registry?.port ?? 0);
    const files = Object.entries(app.files).map(([path, text]) => [path, text.replace("PROXY_PORT", port)]);
    writeFiles(place.folder, Object.fromEntries(files) as Record<string, string>);
    const { code, output } = await place.first();
    const said = normalise(output, { [place.folder]: "<folder>", [stage.home]: "<home>" });
    await expect(`exit code ${code}\n${said}`).toMatchFileSnapshot(goldenOf(app));
    expect(code).toBeGreaterThan(0);
    expect(output.trimEnd().split("\n").at(-1)).toMatch(/^ {2}Next: /);
    const after = await app.follow(place);
    expect(after.code, after.output).toBe(0);
  });
});
