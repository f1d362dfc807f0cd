// docs/install.md, followed to the letter: its commands exist with the flags it gives them, the chart takes its values, and every value that it names is there.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runCommand } from "../../../scripts/run-command.ts";
import { provideBinary, whyNoBinaries } from "../../cluster/binaries.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..", "..");
const PAGE = readFileSync(join(CHECKOUT, "docs", "install.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({
  language,
  text,
}));
const [VALUES = "", ...MORE_VALUES] = BLOCKS.filter(({ language }) => language === "yaml").map(({ text }) => text);
const COMMANDS = BLOCKS.filter(({ language }) => language === "sh").flatMap(({ text }) =>
  text.split("\n").filter(Boolean),
);
const of = (start: string): string[] => COMMANDS.filter((line) => line.startsWith(start));
const RENDERED = COMMANDS.filter((line) => /^helm (install|upgrade) /.test(line));

interface Deployment {
  kind: string;
  spec?: {
    progressDeadlineSeconds?: number;
    template?: { spec: { containers: { startupProbe?: { periodSeconds?: number; failureThreshold?: number } }[] } };
  };
}
interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}
const SCHEMA = JSON.parse(
  readFileSync(join(CHECKOUT, "deploy", "helm", "cupola", "values.schema.json"), "utf8"),
) as Schema;

/** How long the startup probe lets a process start. */
function startSecondsOf(deployment: Deployment | null): number {
  const probe = deployment?.spec?.template?.spec.containers[0]?.startupProbe;
  return (probe?.periodSeconds ?? 0) * (probe?.failureThreshold ?? 0);
}

/** Five minutes are Helm's default. */
function timeoutSecondsOf(line: string): number {
  return Number(/ --timeout (\d+)m\b/.exec(line)?.[1] ?? 5) * 60;
}

/** Whether the chart has the value of a path such as `api.tls.secretName`. */
function hasValue(path: string): boolean {
  let at: Schema | undefined = SCHEMA;
  for (const name of path.split(".")) at = at?.properties?.[name];
  return at !== undefined;
}

/** Paths of values in code of the page's text: `replicas` alone is a word of kubectl's. */
function namedValues(): string[] {
  const top = Object.keys(SCHEMA.properties ?? {}).join("|");
  return [...PAGE.matchAll(new RegExp(`[\`<]((?:${top})(?:\\.[A-Za-z]+)+)(?:[:=][^\`]*)?[\`>]`, "g"))].map(
    ([, path = ""]) => path,
  );
}

test("the page is read as it is meant: its blocks, its commands, its values", () => {
  expect(VALUES).toMatch(/^# values\.yaml$/m);
  expect(MORE_VALUES.length).toBeGreaterThan(0);
  const known = /^(npm ci$|npm run image -- |helm (install|upgrade|uninstall) |kubectl )/;
  expect(COMMANDS.filter((line) => !known.test(line))).toEqual([]);
  expect(namedValues()).toEqual(expect.arrayContaining(["api.publicUrl", "apps.domain", "registry.insecure"]));
});

test("every value that the page names is a value of the chart", () => {
  expect(namedValues().filter((path) => !hasValue(path))).toEqual([]);
});

test.each(of("npm run image"))("%s: its options exist", async (line) => {
  const help = await runCommand([process.execPath, join(CHECKOUT, "scripts", "image", "main.ts"), "--help"], {
    cwd: CHECKOUT,
    deadlineMs: 60_000,
  });
  expect(help.code, help.output).toBe(0);
  const options = line.split(/\s+/).filter((word) => /^--\w/.test(word));
  expect(options.length).toBeGreaterThan(0);
  for (const option of options) expect(help.output).toContain(`${option} <`);
});

const reason = whyNoBinaries(["helm", "kubectl"]);
if (reason) console.log(`the page of installation: skipped, ${reason}`);

describe.skipIf(reason)("with helm and kubectl", () => {
  const folder = mkdtempSync(join(tmpdir(), "cupola-page-"));
  const programs: Record<string, string> = {};
  const env = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder, KUBECONFIG: "/dev/null" };

  beforeAll(async () => {
    for (const name of ["helm", "kubectl"] as const) programs[name] = await provideBinary(name);
    symlinkSync(join(CHECKOUT, "deploy"), join(folder, "deploy"));
    writeFileSync(join(folder, "values.yaml"), VALUES);
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function run(words: readonly string[]): Promise<string> {
    const [name = "", ...args] = words;
    const { code, output } = await runCommand([programs[name] ?? name, ...args], {
      cwd: folder,
      deadlineMs: 60_000,
      env,
    });
    expect(code, `${words.join(" ")}\n${output.slice(-2000)}`).toBe(0);
    return output;
  }
  /** Help after unknown flags is not given. */
  const knowsFlags = (words: readonly string[]) => run([...words, "--help"]);
  /** As the command would install it. */
  const template = (line: string, ...more: string[]) =>
    run(["helm", "template", ...line.split(/\s+/).slice(2), ...more]);

  test.each(RENDERED)("%s: the chart renders", async (line) => {
    await knowsFlags(line.split(/\s+/));
    expect(await template(line)).toContain("kind: CustomResourceDefinition");
  });

  test("Helm and the Deployments wait at least as long as a process may take to start", async () => {
    const [first = ""] = RENDERED;
    const deployments = parseAllDocuments(await template(first))
      .map((document) => document.toJS() as Deployment | null)
      .filter((object) => object?.kind === "Deployment");
    expect(deployments.length).toBeGreaterThan(0);
    const waits = RENDERED.filter((line) => line.includes(" --wait"));
    expect(waits.length).toBeGreaterThan(0);
    for (const deployment of deployments) {
      const startSeconds = startSecondsOf(deployment);
      expect(startSeconds).toBeGreaterThan(0);
      expect(deployment?.spec?.progressDeadlineSeconds ?? 600).toBeGreaterThan(startSeconds);
      for (const line of waits) expect(timeoutSecondsOf(line), line).toBeGreaterThan(startSeconds);
    }
  });

  test.each(MORE_VALUES)("the chart takes the page's further values %#, too", async (values) => {
    writeFileSync(join(folder, "more.yaml"), values);
    expect(await template(RENDERED[0] ?? "", "-f", "more.yaml")).toContain("kind: Ingress\n");
  });

  test.each([...of("helm uninstall"), ...of("kubectl")])("%s: it exists with its flags", async (line) => {
    const words = line.split(/\s+/);
    await knowsFlags(words);
    if (words[1] === "create") await run([...words, "--dry-run=client"]);
  });

  test("a flag or a value that does not exist is found", async () => {
    const [first = ""] = RENDERED;
    await expect(knowsFlags([...first.split(/\s+/), "--no-such-flag"])).rejects.toThrow("unknown flag");
    await expect(knowsFlags(["kubectl", "get", "pods", "--no-such-flag"])).rejects.toThrow("unknown flag");
    await expect(template(first, "--set", "api.noSuchValue=1")).rejects.toThrow("noSuchValue");
    expect(hasValue("api.noSuchValue")).toBe(false);
  });
});
