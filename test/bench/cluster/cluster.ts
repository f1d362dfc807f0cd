// `npm run bench -- --cluster`: what Cupola costs on a real control plane, from a hundred apps to ten thousand in a thousand spaces.
import { setTimeout as delay } from "node:timers/promises";
import { App } from "../../../crds/app/app.ts";
import { guidOf } from "../../../crds/guid.ts";
import { LRP } from "../../../crds/lrp/lrp.ts";
import { type Figure, figure } from "../figure.ts";
import { measureReads } from "../reads.ts";
import { waitUntilIdle, type BenchCluster, countWrites, type Replica, startBenchCluster } from "./bench-cluster.ts";
import { collectFinalObjects, removeBaseline, writeBaseline } from "./write-baseline.ts";
import { compareForbidden, measureP99, readerOf } from "./latency.ts";
import { expectMore, makeApps, makeSpaces, makeStoppedApps, startApps } from "./make-apps.ts";

const FEW = 100;
const CREATED = 1000;
const STARTED = 200;
const SPACES = 1000;
const ORGS = 10;
const APPS = 10_000;
const REPLICAS = 3;
const MINUTE_MS = 60_000;

export async function measureCluster(): Promise<Figure[]> {
  const plane = await startBenchCluster();
  try {
    const few = await measureFew(plane);
    return [...(await measureWrites(plane)), ...(await measureReplicas(plane)), ...(await measureMany(plane, few))];
  } finally {
    await plane.stop();
  }
}

const logProgress = (what: string): void => void process.stderr.write(`cluster: ${what} …\n`);

/** The 99th percentile at a hundred apps. */
async function measureFew({ admin, developerToken, start }: BenchCluster): Promise<number> {
  logProgress(`${FEW} apps`);
  const platform = await start(["api", "controllers"]);
  const namespaces = await makeSpaces(admin, "few", 10);
  await makeStoppedApps(admin, namespaces, { prefix: "few", count: FEW });
  await waitUntilIdle([platform]);
  const p99 = await measureP99(readerOf(platform, developerToken));
  await platform.stop();
  return p99;
}

/** Apps created, and apps started, to all their LRPs: against the floor. */
async function measureWrites(plane: BenchCluster): Promise<Figure[]> {
  const { admin, start } = plane;
  const platform = await start(["controllers"]);
  const namespaces = await makeSpaces(admin, "writes", 10);
  await makeApps(admin, namespaces, { prefix: "start", count: STARTED, state: "Stopped" });
  await waitUntilIdle([platform]);

  logProgress(`${STARTED} stopped apps started`);
  const started = { ms: 0, written: 0 };
  ({ written: started.written } = await countWrites(plane, [platform], async () => {
    const there = await expectMore(admin, LRP, STARTED);
    started.ms = await timed(async () => {
      await startApps(admin, namespaces, { prefix: "start", count: STARTED });
      await there();
    });
  }));

  logProgress(`${CREATED} apps created`);
  const created = { ms: 0, msInAll: 0, written: 0 };
  ({ written: created.written } = await countWrites(plane, [platform], async () => {
    const there = await expectMore(admin, LRP, CREATED);
    created.msInAll = await timed(async () => {
      created.ms = await timed(async () => {
        await makeApps(admin, namespaces, { prefix: "create", count: CREATED, state: "Started" });
        await there();
      });
      await platform.child.request("idle");
    });
  }));
  await platform.stop();

  logProgress("the floor of the same");
  const final = await collectFinalObjects(admin, "create");
  const baseline = await writeBaseline(plane, final, "floor");
  await removeBaseline(admin, final, "floor");
  return [
    figure(`${CREATED} apps created to all LRPs there, against the floor: time`, created.ms / baseline.ms, "ratio", {
      max: 1.5,
    }),
    figure(
      `${CREATED} apps created until nothing is left to say of them, against the floor: time`,
      created.msInAll / baseline.ms,
      "ratio",
    ),
    figure(`${CREATED} apps created, against the floor: writes`, created.written / baseline.writes, "ratio"),
    figure(`${CREATED} apps created to all LRPs there`, created.ms / 1000, "s"),
    figure(`${STARTED} stopped apps started to all LRPs there`, started.ms / 1000, "s"),
    figure(
      `${STARTED} stopped apps started: writes per app, the one that starts it too`,
      started.written / STARTED,
      "writes",
    ),
  ];
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The same load with one replica of the controllers and with several. */
async function measureReplicas(plane: BenchCluster): Promise<Figure[]> {
  const { admin, start } = plane;
  logProgress(`${REPLICAS} replicas`);
  const one = await start(["controllers"]);
  const namespaces = await makeSpaces(admin, "replicas", 10);
  await waitUntilIdle([one]);
  const load = (prefix: string) => async (): Promise<void> => {
    const there = await expectMore(admin, LRP, STARTED);
    await makeApps(admin, namespaces, { prefix, count: STARTED, state: "Started" });
    await there();
  };
  const alone = await countWrites(plane, [one], load("alone"));
  const all: Replica[] = [one];
  while (all.length < REPLICAS) all.push(await start(["controllers"]));
  await waitUntilIdle(all);
  const together = await countWrites(plane, all, load("together"));
  await Promise.all(all.map((replica) => replica.stop()));
  return [
    figure(`writes of ${REPLICAS} replicas, against one replica's`, together.written / alone.written, "ratio", {
      max: 1.05,
    }),
    figure(
      `write requests of ${REPLICAS} replicas, refused ones too, against one replica's`,
      together.attempts / alone.attempts,
      "ratio",
      { max: REPLICAS },
    ),
  ];
}

/** Everything that is said of ten thousand apps. */
async function measureMany(plane: BenchCluster, few: number): Promise<Figure[]> {
  const { admin, developerToken, start } = plane;
  const controllers = await start(["controllers"]);
  logProgress(`${SPACES} spaces`);
  const already = (await admin.list(App)).items;
  const namespaces: string[] = [];
  for (let org = 0; org < ORGS; org++) namespaces.push(...(await makeSpaces(admin, `many-${org}`, SPACES / ORGS)));
  await waitUntilIdle([controllers]);
  const platform = await start(["api"]);
  const bytesBefore = await platform.child.request<number>("memory");
  logProgress(`${APPS} apps`);
  await makeStoppedApps(admin, namespaces, { prefix: "many", count: APPS });
  await waitUntilIdle([controllers, platform]);
  const bytes = (await platform.child.request<number>("memory")) - bytesBefore;
  logProgress("reads");
  const p99 = await measureP99(readerOf(platform, developerToken));
  const reads = await measureReads({
    platform: platform.child,
    url: platform.url,
    token: developerToken,
    apps: already.length + APPS,
  });
  const outsider = readerOf(platform, await outsiderToken(plane));
  const guids = (await admin.list(App, { namespace: namespaces[0] ?? "" })).items.map((app) => guidOf(app));
  const forbidden = await compareForbidden(outsider, guids);
  logProgress("a minute of rest");
  const idle = await countWrites(plane, [controllers, platform], () => delay(MINUTE_MS));
  return [
    figure(`99th percentile of usual reads at ${already.length + APPS} apps, against at ${FEW}`, p99 / few, "ratio", {
      max: 1.5,
    }),
    figure("GET of something forbidden, against something absent: time (or its inverse)", forbidden, "ratio", {
      max: 1.25,
    }),
    figure("memory of the API's process per app, with its process and claim", bytes / APPS / 1024, "KiB", { max: 8 }),
    figure(`idle writes per minute at ${APPS} apps (leases apart)`, idle.attempts, "writes", { max: 0 }),
    ...reads,
  ];
}

/** Token of a service account without any right of ours. */
async function outsiderToken({ admin }: BenchCluster): Promise<string> {
  await admin.raw("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "stranger" } });
  const answer = (await admin.raw("POST", "/api/v1/namespaces/default/serviceaccounts/stranger/token", {
    spec: { expirationSeconds: 3600 },
  })) as { status: { token: string } };
  return answer.status.token;
}
