// The npm package, installed where no checkout is, on the machine's own Node: a laptop's Cupola starts, takes an app and stops.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../scripts/run-command.ts";
import { stageRelease } from "../../scripts/release/stage.ts";
import { freePort } from "../cluster/free-port.ts";
import { eventually } from "../eventually.ts";
import { runInEmptyRoot, whyNoEmptyRoot } from "./release/empty-root.ts";
import { chosenPlatformKind, getFrom } from "./support/start-test-platform.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");

/** The user's own PATH: npm and vitest put the checkout's Node in front of it. */
const PATH = (process.env["PATH"] ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules") && !folder.includes("node-gyp-bin"))
  .join(delimiter);

describe.skipIf(chosenPlatformKind() !== "laptop")("the npm package", () => {
  let folder: string;
  let installed: string;
  let port: number;

  async function run(...command: [string, ...string[]]): Promise<string> {
    const env = { PATH, CUPOLA_HOME: join(folder, "home"), XDG_CACHE_HOME: join(folder, "cache"), NO_COLOR: "1" };
    const { code, output } = await runCommand(command, { cwd: folder, deadlineMs: 120_000, env });
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}\n${output}`);
    return output;
  }
  const cup = (...args: string[]): Promise<string> => run(join(folder, "prefix", "bin", "cup"), ...args);

  async function start(): Promise<string> {
    const ports = ["--port", String(port), "--kube-port", String(await freePort())];
    return cup("local", "start", "--detach", "--empty", ...ports);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "cupola-release-"));
    installed = join(folder, "prefix", "lib", "node_modules", "cupola");
    port = await freePort();
    const staged = join(folder, "staged");
    mkdirSync(staged);
    stageRelease(CHECKOUT, staged);
    await run("npm", "pack", staged, "--ignore-scripts", "--silent");
    const [tarball = ""] = globSync("cupola-*.tgz", { cwd: folder });
    const flags = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
    await run("npm", "install", "--global", "--prefix", join(folder, "prefix"), ...flags, join(folder, tarball));
  });
  afterAll(async () => {
    await cup("local", "stop").catch(() => undefined); // it has been stopped, or the test has said why not
    rmSync(folder, { recursive: true, force: true });
  });

  test("holds JavaScript alone, without tests, and `npm pack` makes it of a checkout", () => {
    const files = globSync("**/*", { cwd: installed, exclude: ["node_modules"] });
    expect(files.filter((file) => /\.ts$|\.test\.|\.golden\.|(^|\/)testing(\/|$)/.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["bin/cup.js", "dist/cli/cup.js", "dist/examples/hello/server.js"]));
    const { scripts } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(scripts["prepack"]).toContain("scripts/release/main.ts");
  });

  test("starts, takes an app, shows its log, stops, and says its version", async () => {
    expect(await start()).toContain(`Cupola is ready: http://localhost:${port}`);
    const pushed = await cup("push", "hello", "--path", join(installed, "dist", "examples", "hello"), "-m", "128M");
    expect(pushed).toContain(`hello runs: http://hello.apps.localhost:${port}`);
    expect((await getFrom(port, "hello.apps.localhost", "/for-the-log")).status).toBe(200);
    await eventually(async () => expect(await cup("logs", "hello", "--recent")).toContain("/for-the-log"));
    expect(await cup("local", "stop")).toContain("Stopped.");
    const { version } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as { version: string };
    expect((await run(join(folder, "prefix", "bin", "cupola"), "--help")).includes("--operation")).toBe(true);
    expect(await cup("--version")).toBe(`${version}\n`);
  });

  // By name alone: it takes a minute.
  const isNamed = (process.env["CUPOLA_E2E_NAMES"] ?? "").split(",").includes("release");
  test("runs where there is Node and nothing else", { timeout: 300_000 }, async (context) => {
    const reason = isNamed ? whyNoEmptyRoot(PATH) : "npm run e2e -- release does it";
    if (reason) return context.skip(reason);
    const [tarball = ""] = globSync("cupola-*.tgz", { cwd: folder });
    const output = await runInEmptyRoot(join(folder, "root"), {
      path: PATH,
      files: { "cupola.tgz": join(folder, tarball) },
      script: `npm install --global --prefix /user/prefix --no-audit --no-fund --loglevel=error ./cupola.tgz
cup local start --detach --empty --port ${await freePort()} --kube-port ${await freePort()}
cup push hello --path /user/prefix/lib/node_modules/cupola/dist/examples/hello -m 128M
cup logs hello --recent
cup local stop
`,
    });
    expect(output).toContain("hello runs: http://hello.apps.localhost:");
    expect(output).toContain("hello listens on port");
    expect(output.trimEnd()).toMatch(/Stopped\.$/);
    return undefined;
  });

  test("refuses the home of a newer version, and names it", async () => {
    const file = join(folder, "home", "state.json");
    expect(existsSync(file)).toBe(true);
    const state = JSON.parse(readFileSync(file, "utf8")) as object;
    writeFileSync(file, JSON.stringify({ ...state, version: "999.0.0" }));
    await expect(start()).rejects.toThrow("was last used by Cupola 999.0.0");
  });
});
