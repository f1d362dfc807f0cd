// The work of cf, by kubectl: App, Process and Route applied as one file, each verb as a patch, and both doors on one app.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { restartInstancePatch, COMMAND_PATCHES } from "../../crds/cf-command-patches.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { eventually } from "../eventually.ts";
import { startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const NAMESPACE = "local-dev";
const TIMES = 100;
/** So many of them run at the same time; the rest is stopped, or two cores would do nothing else. */
const RUNNING = 4;
const PROGRAM = `const { createServer } = require("http");
const size = () => process.env.MEMORY_LIMIT + " " + process.env.CF_INSTANCE_INDEX;
createServer((question, answer) => { answer.statusCode = question.url === "/broken" ? 500 : 200; answer.end(size()); }).listen(process.env.PORT);
`;

interface Process {
  guid: string;
  instances: number;
  memory_in_mb: number;
  disk_in_mb: number;
  health_check: { type: string; data: { endpoint?: string; timeout?: number } };
}

describe("kubectl", () => {
  let stage: TestPlatform;
  let api: Api;
  let droplet: string;

  beforeAll(async () => {
    stage = await startTestPlatform();
    api = apiAt(stage.url, tokenOf(stage, "admin"));
    droplet = await pushSource();
  });
  afterAll(() => stage?.stop());

  /** A droplet to use: that of an app pushed once. Its object's name. */
  async function pushSource(): Promise<string> {
    const folder = join(stage.home, "source");
    mkdirSync(folder);
    writeFileSync(join(folder, "index.js"), PROGRAM);
    writeFileSync(join(folder, "package.json"), '{"name":"source","version":"1.0.0"}\n');
    writeFileSync(join(folder, "Procfile"), "web: node index.js\n");
    for (const args of [
      ["login", "--api", stage.url, "--user", "admin"],
      ["target", "-o", "local", "-s", "dev"],
      ["push", "source", "-p", folder, "-m", "64M", "--no-route", "-u", "process"],
    ]) {
      const { code, output } = await stage.cup(...args);
      expect(code, output).toBe(0);
    }
    return must("get", "apps.cupola.dev/source", "-n", NAMESPACE, "-o", "jsonpath={.spec.droplet.name}");
  }

  async function must(...args: string[]): Promise<string> {
    const { code, output } = await stage.kubectl(...args);
    expect(code, `kubectl ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  /** A file with all that an app is; everything about its size is not the default. */
  function manifestOf(name: string, state: string, instances = 2): string {
    const object = (kind: string, called: string, spec: object): string =>
      stringify({ apiVersion: "cupola.dev/v1alpha1", kind, metadata: { name: called, namespace: NAMESPACE }, spec });
    const file = join(stage.home, `${name}.yaml`);
    const objects = [
      object("App", name, { state, droplet: { name: droplet }, env: [{ name: "COLOUR", value: "blue" }] }),
      object("Process", `${name}.web`, {
        appRef: { name },
        type: "web",
        instances,
        memoryMB: 96,
        diskMB: 200,
        healthCheck: { type: "http", endpoint: "/health", timeoutSeconds: 30 },
      }),
      object("Route", name, { host: name, domainRef: { name: "apps.localhost" }, destinations: [{ app: name }] }),
    ];
    writeFileSync(file, objects.join("---\n"));
    return file;
  }

  const apply = (file: string, ...more: string[]) => stage.kubectl("apply", "--server-side", "-f", file, ...more);
  const appCalled = async (name: string): Promise<Named & { state: string }> => {
    const [found] = (await api.call<Page<Named & { state: string }>>("GET", `/v3/apps?names=${name}`)).resources;
    if (!found) throw new Error(`CF shows no app ${name}`);
    return found;
  };
  const webOf = async (name: string): Promise<Process> =>
    api.call<Process>("GET", `/v3/apps/${(await appCalled(name)).guid}/processes/web`);
  const statesOf = async (name: string): Promise<string[]> =>
    (
      await api.call<{ resources: { state: string }[] }>(
        "GET",
        `/v3/apps/${(await appCalled(name)).guid}/processes/web/stats`,
      )
    ).resources.map(({ state }) => state);
  const answersWith = (host: string, body: RegExp) =>
    eventually(async () =>
      expect(await stage.get(`${host}.apps.localhost`)).toMatchObject({
        status: 200,
        body: expect.stringMatching(body) as string,
      }),
    );

  test(`App, Process and Route applied together, ${TIMES} times without a conflict`, async () => {
    const limit = pLimit(5);
    const names = Array.from({ length: TIMES }, (_, at) => `many-${at}`);
    const applied = await Promise.all(
      names.map((name, at) => limit(() => apply(manifestOf(name, at < RUNNING ? "Started" : "Stopped")))),
    );
    expect(applied.filter(({ code }) => code !== 0)).toEqual([]);
    for (const name of names.slice(0, RUNNING)) await answersWith(name, /^96m/i);
    const { resources } = await api.call<Page<Process>>("GET", "/v3/processes?per_page=500");
    const sized = resources.filter(
      (one) =>
        one.memory_in_mb === 96 &&
        one.instances === 2 &&
        one.disk_in_mb === 200 &&
        one.health_check.type === "http" &&
        one.health_check.data.endpoint === "/health",
    );
    expect(sized).toHaveLength(TIMES);
    // A second apply of the same has nothing to say.
    expect((await apply(join(stage.home, "many-0.yaml"))).code).toBe(0);
  });

  test.skipIf(whyNoCf())("they show in cf apps", async () => {
    const cf = cfOn(stage);
    for (const args of [
      ["api", stage.url],
      ["auth", "admin"],
      ["target", "-o", "local", "-s", "dev"],
    ])
      expect((await cf(...args)).code).toBe(0);
    await eventually(async () =>
      expect((await cf("apps")).output).toMatch(/many-0\s+started\s+web:2\/2\s+many-0\.apps\.localhost/),
    );
    expect((await cf("apps")).output).toMatch(/many-50\s+stopped\s+web:0\/2/);
    expect((await cf("app", "many-0")).output).toMatch(/memory usage:\s+96M/);
  });

  describe("each verb by a patch", () => {
    const patch = (kind: "App" | "Process", body: object) =>
      must(
        "patch",
        `${kind === "App" ? "apps" : "processes"}.cupola.dev/${kind === "App" ? "verbs" : "verbs.web"}`,
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        JSON.stringify(body),
      );
    const revision = () => must("get", "apps.cupola.dev/verbs", "-n", NAMESPACE, "-o", "jsonpath={.status.revision}");
    const running = (count: number) =>
      eventually(async () =>
        expect((await statesOf("verbs")).filter((state) => state === "RUNNING")).toHaveLength(count),
      );

    test("start, and stop", async () => {
      expect((await apply(manifestOf("verbs", "Stopped", 1))).code).toBe(0);
      await patch("App", COMMAND_PATCHES.start.patch());
      await answersWith("verbs", /0$/);
      expect((await appCalled("verbs")).state).toBe("STARTED");
      await patch("App", COMMAND_PATCHES.stop.patch());
      await eventually(async () => expect((await appCalled("verbs")).state).toBe("STOPPED"));
      await eventually(async () => expect((await stage.get("verbs.apps.localhost")).status).toBe(404));
      await patch("App", COMMAND_PATCHES.start.patch());
      await running(1);
    });

    test("scale", async () => {
      await patch("Process", COMMAND_PATCHES.scale.patch("3"));
      await running(3);
      expect(await webOf("verbs")).toMatchObject({ instances: 3 });
      await must("scale", "processes.cupola.dev/verbs.web", "-n", NAMESPACE, "--replicas=2");
      await running(2);
    });

    test("restart, and the restart of one instance", async () => {
      const before = await revision();
      await patch("App", COMMAND_PATCHES.restart.patch("again"));
      await eventually(async () => expect(await revision()).not.toBe(before));
      await must(
        "wait",
        "apps.cupola.dev/verbs",
        "-n",
        NAMESPACE,
        "--for=jsonpath={.status.observedRestart}=again",
        "--timeout=20s",
      );
      await running(2);
      const now = await revision();
      const uptimes = async () =>
        (
          await api.call<{ resources: { index: number; uptime: number; state: string }[] }>(
            "GET",
            `/v3/apps/${(await appCalled("verbs")).guid}/processes/web/stats`,
          )
        ).resources;
      await eventually(async () => expect((await uptimes()).every(({ uptime }) => uptime >= 3)).toBe(true));
      const patched = Date.now();
      // Uptimes are whole seconds.
      const isNew = (uptime: number): boolean => Date.now() - uptime * 1000 >= patched - 1000;
      await patch("Process", restartInstancePatch(1, "again"));
      await eventually(async () =>
        expect((await uptimes()).map(({ uptime, state }) => state === "RUNNING" && isNew(uptime))).toEqual([
          false,
          true,
        ]),
      );
      expect(await revision()).toBe(now);
    });

    test("set-droplet, with a restart", async () => {
      const spec = JSON.parse(
        await must("get", `droplets.cupola.dev/${droplet}`, "-n", NAMESPACE, "-o", "jsonpath={.spec}"),
      ) as object;
      writeFileSync(
        join(stage.home, "droplet.yaml"),
        stringify({
          apiVersion: "cupola.dev/v1alpha1",
          kind: "Droplet",
          metadata: { name: "by-hand", namespace: NAMESPACE },
          spec: { ...spec, appRef: { name: "verbs" } },
        }),
      );
      await must("apply", "--server-side", "-f", join(stage.home, "droplet.yaml"));
      await patch("App", {
        spec: { ...COMMAND_PATCHES.setDroplet.patch("by-hand").spec, ...COMMAND_PATCHES.restart.patch("droplet").spec },
      });
      const guid = await eventually(async () => {
        const label = await must(
          "get",
          "droplets.cupola.dev/by-hand",
          "-n",
          NAMESPACE,
          "-o",
          "jsonpath={.metadata.labels.cupola\\.dev/guid}",
        );
        expect(label).not.toBe("");
        return label;
      });
      expect(await api.call("GET", `/v3/apps/${(await appCalled("verbs")).guid}/droplets/current`)).toMatchObject({
        guid,
      });
      await running(2);
    });

    /** Where the webhook runs, it refuses at once; elsewhere a condition says it. */
    async function renameToTaken(): Promise<void> {
      const app = ["apps.cupola.dev/verbs", "-n", NAMESPACE];
      const body = JSON.stringify(COMMAND_PATCHES.rename.patch("many-0"));
      const { code, output } = await stage.kubectl("patch", ...app, "--type=merge", "-p", body);
      if (stage.on === "node") {
        expect([code, output]).toEqual([1, expect.stringContaining("the name is taken by another App of this space")]);
        return;
      }
      expect(code, output).toBe(0);
      const reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
      await eventually(async () => expect(await must("get", ...app, "-o", reason)).toBe("NameTaken"));
    }

    test("rename, also to a name that is taken", async () => {
      const { guid } = await appCalled("verbs");
      await patch("App", COMMAND_PATCHES.rename.patch("Renamed"));
      await eventually(async () => expect((await appCalled("Renamed")).guid).toBe(guid));
      expect((await api.call<Page<Named>>("GET", "/v3/apps?names=verbs")).resources).toEqual([]);
      await renameToTaken();
      expect((await api.call<Page<Named>>("GET", "/v3/apps?names=many-0")).resources).toHaveLength(1);
      await patch("App", COMMAND_PATCHES.rename.patch("verbs"));
      await eventually(async () => expect((await appCalled("verbs")).guid).toBe(guid));
    });
  });

  test("after a scale by CF the same manifest reports the conflict, and --force-conflicts resolves it", async () => {
    const file = join(stage.home, "many-1.yaml");
    await api.call("POST", `/v3/processes/${(await webOf("many-1")).guid}/actions/scale`, { instances: 1 });
    const refused = await apply(file);
    expect(refused.code).not.toBe(0);
    expect(refused.output).toMatch(/conflict with "cupola-api".*[\s\S]*\.spec\.instances/);
    expect(await webOf("many-1")).toMatchObject({ instances: 1 });
    expect((await apply(file, "--force-conflicts")).code).toBe(0);
    expect(await webOf("many-1")).toMatchObject({ instances: 2 });
    // From then on it is the manifest's again.
    expect((await apply(file)).code).toBe(0);
  });

  test("get, describe and explain read well", async () => {
    const everything = await must("get", "cf", "-A");
    expect(everything).toMatch(/app\.cupola\.dev\/many-0\s+many-0\s+Started\s+\S+\s+True/);
    expect(everything).toMatch(/process\.cupola\.dev\/many-0\.web\s+many-0\s+web\s+2\s+2\s+96\s+True/);
    expect(everything).toMatch(/route\.cupola\.dev\/many-0\s+many-0\.apps\.localhost\s+many-0\s+True/);
    const described = await must("describe", "apps.cupola.dev/many-0", "-n", NAMESPACE);
    expect(described).toMatch(/Kind:\s+App/);
    expect(described).toMatch(/Type:\s+Ready/);
    for (const kind of ["app", "process", "route", "org", "space", "droplet", "package", "domain"]) {
      const explained = await must("explain", `${kind}.spec`, "--api-version=cupola.dev/v1alpha1");
      expect(explained, kind).not.toContain("<empty>");
      expect(explained, kind).not.toContain("<no description>");
    }
    expect(await must("explain", "apps.spec.env", "--api-version=cupola.dev/v1alpha1")).toContain(
      "Environment variables of the app.",
    );
  });
});
