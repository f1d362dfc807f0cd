// A real Prometheus scrapes a platform on a real control plane: by TLS and by RBAC, with series for every panel of the dashboards; promtool passes rules, their tests, and a scrape.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Lease } from "../../../kube/api/builtin.ts";
import { COUNTING_LEASE } from "../../../platform/metrics/platform-metrics.ts";
import { startPlatform, type RunningPlatform } from "../../../platform/platform.ts";
import { parseRegistryPrefix } from "../../../blobs/registry/image-name.ts";
import { DASHBOARDS } from "../../../scripts/dashboards.ts";
import { runCommand } from "../../../scripts/run-command.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { freePort } from "../../cluster/free-port.ts";
import { startGuarded, type GuardedProcess } from "../../cluster/guarded-process.ts";
import { whyNoRegistry } from "../../cluster/registry.ts";
import { eventually } from "../../eventually.ts";
import { DoctorWorld } from "../doctor/doctor-world.ts";
import { ownAddress } from "../own-address.ts";
import { useApps } from "./use-apps.ts";

const PROMETHEUS = "/usr/bin/prometheus";
const PROMTOOL = "/usr/bin/promtool";
const MINUTE = 60_000;
const RULES = join(import.meta.dirname, "../../../deploy/helm/cupola/prometheus/rules.yaml");

function whyNoPrometheus(): string | undefined {
  const absent = [PROMETHEUS, PROMTOOL].find((program) => !existsSync(program));
  return absent && `there is no ${absent}: apt install prometheus`;
}

const noPrometheus = whyNoPrometheus();
if (noPrometheus) console.log(`rules of Prometheus: skipped, ${noPrometheus}`);

async function promtool(...args: string[]): Promise<string> {
  const { code, output } = await runCommand([PROMTOOL, ...args], { cwd: import.meta.dirname, deadlineMs: 4 * MINUTE });
  expect(code, output).toBe(0);
  return output;
}

describe.skipIf(noPrometheus)("rules", () => {
  test(
    "promtool reads the chart's rules",
    async () => expect(await promtool("check", "rules", RULES)).toContain("SUCCESS"),
    MINUTE,
  );
  test("each alert fires, stays silent and recovers", () => promtool("test", "rules", "rules-test.yaml"), 5 * MINUTE);
});

const reason = noPrometheus ?? whyNoControlPlane() ?? whyNoBinaries(["helm"]) ?? whyNoRegistry();
if (reason) console.log(`a scrape by Prometheus: skipped, ${reason}`);

describe.skipIf(reason)("Prometheus", () => {
  const world = new DoctorWorld();
  const target = { host: ownAddress(), port: 0 };
  let platform: RunningPlatform;
  let prometheus: GuardedProcess;
  let url = "";

  beforeAll(async () => {
    await world.start();
    // The world's own holder never ends.
    await world.admin.delete(Lease, { namespace: SYSTEM_NAMESPACE, name: COUNTING_LEASE });
    target.port = await freePort();
    platform = await startPlatform({
      access: { server: world.plane.url, ca: world.plane.ca, auth: { kind: "token", token: "platform-token" } },
      // There is no Gateway API: its watches are parked.
      operations: ["api", "controllers", "cnb-builder", "gateway-router"],
      data: join(world.folder, "data"),
      listen: { host: "127.0.0.1", port: 0 },
      metrics: target,
      registry: { prefix: parseRegistryPrefix(`${world.registry.host}/apps`), insecureHosts: [] },
      log: pino({ level: process.env["TEST_LOG"] ?? "silent" }),
      shutdown: { drainMs: 0 },
    });
    await startPrometheus();
    // The leader alone counts.
    const leads = `leader_election_master_status{name="${COUNTING_LEASE}"} == 1`;
    await eventually(async () => expect(await query(leads)).toHaveLength(1), MINUTE);
    await useApps({
      admin: world.platform,
      url: platform.url,
      token: "platform-token",
      broker: `http://${world.registry.host}`,
    });
    await breakThings();
  }, 10 * MINUTE);
  afterAll(async () => {
    await prometheus?.kill();
    await platform?.stop({ instances: "end" });
    await world.stop();
  }, MINUTE);

  async function startPrometheus(): Promise<void> {
    const account = ["create", "token", "-n", SYSTEM_NAMESPACE, "cupola-metrics"];
    const job = (name: string, credentials: string) => ({
      job_name: name,
      scheme: "https",
      authorization: { credentials },
      tls_config: { insecure_skip_verify: true },
      static_configs: [{ targets: [`${target.host}:${target.port}`] }],
    });
    const config = {
      global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
      rule_files: [RULES],
      scrape_configs: [job("cupola", (await world.kubectl(...account)).trim()), job("stranger", "reader-token")],
    };
    const file = join(world.folder, "prometheus.yaml");
    writeFileSync(file, stringify(config), { mode: 0o600 });
    const address = `127.0.0.1:${await freePort()}`;
    url = `http://${address}`;
    const data = join(world.folder, "prometheus");
    prometheus = startGuarded(
      [PROMETHEUS, `--config.file=${file}`, `--storage.tsdb.path=${data}`, `--web.listen-address=${address}`],
      { name: "prometheus", logFile: join(world.folder, "prometheus.log") },
    );
    await eventually(async () => expect((await fetch(`${url}/-/ready`)).status, prometheus.log()).toBe(200), MINUTE);
  }

  /** A registry that fails: the check of /readyz, and reconciles of the builder class. */
  async function breakThings(): Promise<void> {
    world.registry.proxy.decide = () => ({ status: 503 });
    await world.admin.patch(
      BackendClass,
      { name: "cnb" },
      { type: "merge", body: { spec: { parameters: { builderImage: `${world.registry.host}/other:1` } } } },
    );
  }

  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${url}/api/v1/${path}`, { signal: AbortSignal.timeout(10_000) });
    const { status, data } = (await answer.json()) as { status: string; data: T };
    expect(status).toBe("success");
    return data;
  };
  const query = async (expr: string): Promise<unknown[]> =>
    (await ask<{ result: unknown[] }>(`query?query=${encodeURIComponent(expr)}`)).result;

  test("scrapes with the chart's account, and not with another", async () => {
    await eventually(async () => {
      const { activeTargets } = await ask<{
        activeTargets: { scrapePool: string; health: string; lastError: string }[];
      }>("targets");
      expect(
        activeTargets.map(({ scrapePool, health, lastError }) => [scrapePool, health, lastError]).toSorted(),
      ).toEqual([
        ["cupola", "up", ""],
        ["stranger", "down", expect.stringContaining("403")],
      ]);
    }, MINUTE);
  });

  test(
    "every panel of every dashboard finds series",
    async () => {
      const panels = DASHBOARDS.flatMap(({ name, panels: own }) => own.map((panel) => ({ name, ...panel })));
      await eventually(async () => {
        const found = await Promise.all(panels.map(async ({ expr }) => (await query(expr)).length));
        const empty = panels.filter((_panel, at) => found[at] === 0);
        expect(empty.map(({ name, title, expr }) => `${name}: ${title}: ${expr}`)).toEqual([]);
      }, 90_000);
    },
    2 * MINUTE,
  );

  test("evaluates every rule of the chart", async () => {
    await eventually(async () => {
      const { groups } = await ask<{ groups: { rules: { name: string; health: string }[] }[] }>("rules");
      const rules = groups.flatMap((group) => group.rules);
      expect(rules.length).toBeGreaterThan(10);
      expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
    }, MINUTE);
  });

  test("promtool finds no fault in a scrape, but for names of Node's own metrics", async () => {
    const file = join(world.folder, "scrape.txt");
    await world.shell(
      `curl --silent --show-error --fail --insecure --output ${file} --header "Authorization: Bearer $(kubectl create token -n ${SYSTEM_NAMESPACE} cupola-metrics)" https://${target.host}:${target.port}/metrics`,
    );
    const { output } = await runCommand(["sh", "-c", `${PROMTOOL} check metrics < ${file}`], {
      cwd: world.folder,
      deadlineMs: MINUTE,
    });
    expect(output.split("\n").filter((line) => line !== "" && !line.startsWith("nodejs_"))).toEqual([]);
  });
});
