// `cup support-bundle` on a real kube-apiserver: what is in it, and that none of the planted secrets is, in any encoding. Logs come from a kubelet of the test.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Org } from "../../../crds/org/org.ts";
import { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { Task } from "../../../crds/task/task.ts";
import { Deployment, Event, Namespace, Pod, Secret } from "../../../kube/api/builtin.ts";
import { whyNoBinaries, whyNoControlPlane } from "../../cluster/binaries.ts";
import { freePort } from "../../cluster/free-port.ts";
import { whyNoRegistry } from "../../cluster/registry.ts";
import { ownAddress } from "../own-address.ts";
import { DoctorWorld } from "./doctor-world.ts";

const CUP = join(import.meta.dirname, "..", "..", "..", "cli", "cup.ts");
const MINUTE = 60_000;
const SPACE = "acme-dev";
const SYSTEM = { namespace: SYSTEM_NAMESPACE };

const secret = (): string => `Hd7"+/\\&=${randomBytes(9).toString("base64")}`;
/** By the place where each is planted. */
const SECRETS = {
  secret: secret(),
  brokerCredentials: secret(),
  variable: secret(),
  variableOfOurs: secret(),
  annotation: secret(),
  label: `L${randomBytes(9).toString("hex")}`,
  parameter: secret(),
  command: secret(),
  argument: secret(),
  message: secret(),
  event: `Ev7${randomBytes(12).toString("base64url")}`,
  token: `eyJhbGciOiJSUzI1NiJ9.${randomBytes(30).toString("base64url")}.${randomBytes(30).toString("base64url")}`,
  logField: secret(),
  logHeader: `Lh7${randomBytes(12).toString("base64url")}`,
  logUrl: `Lu7${randomBytes(12).toString("base64url")}`,
  logError: secret(),
  logText: secret(),
  logBefore: secret(),
};

/** A text, and in the encodings in which it may stand in another. */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  // Base64 depends on the place in its group of three; its first and last characters on the neighbours.
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  const escaped = JSON.stringify(text).slice(1, -1);
  return [
    text,
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
    encodeURIComponent(text),
    new URLSearchParams({ a: text }).toString().slice(2),
    escaped,
    JSON.stringify(escaped).slice(1, -1),
    bytes.toString("hex"),
  ];
}

/** Names of the secrets that a text holds, also where lines split them. */
function found(text: string): string[] {
  const joined = text.replace(/\s|\\n/g, "");
  return Object.entries(SECRETS)
    .filter(([, value]) => formsOf(value).some((form) => text.includes(form) || joined.includes(form)))
    .map(([name]) => name);
}

test("the search finds a secret in each encoding, and split", () => {
  const { secret: value } = SECRETS;
  const split = `${value.slice(0, 9)}\n${value.slice(9)}`;
  const in64 = ["", "a", "ab"].map((before) => Buffer.from(`${before}${value}after`).toString("base64"));
  for (const text of [value, split, JSON.stringify({ value }), encodeURIComponent(value), ...in64])
    expect(found(`before ${text} after`), text).toContain("secret");
});

const reason = whyNoControlPlane() ?? whyNoBinaries(["helm"]) ?? whyNoRegistry();
if (reason) console.log(`the support bundle: skipped, ${reason}`);

describe.skipIf(reason)("cup support-bundle", () => {
  const world = new DoctorWorld();
  beforeAll(async () => {
    await world.start();
    await plant();
  }, 10 * MINUTE);
  afterAll(() => world.stop(), MINUTE);

  async function plant(): Promise<void> {
    const inSpace = (name: string) => ({ namespace: SPACE, name });
    await world.admin.create(Org, { metadata: { name: "acme" }, spec: {} });
    await world.platform.create(Namespace, {
      metadata: { name: SPACE, labels: { [LABELS.namespaceKind]: "space", [LABELS.ownerUid]: "u" } },
    });
    for (const [where, name] of [
      [SYSTEM_NAMESPACE, "cupola-broker-credentials"],
      [SPACE, "shop-env"],
    ] as const)
      await world.admin.create(Secret, {
        metadata: { namespace: where, name, annotations: { note: SECRETS.annotation } },
        stringData: { password: where === SPACE ? SECRETS.secret : SECRETS.brokerCredentials },
      });
    await world.admin.create(App, {
      metadata: { ...inSpace("shop"), annotations: { note: SECRETS.annotation }, labels: { team: SECRETS.label } },
      spec: { name: "shop", env: [{ name: "PASSWORD", value: SECRETS.variable }] },
    });
    await world.admin.create(Task, {
      metadata: inSpace("migrate"),
      spec: { appRef: { name: "shop" }, command: `psql '${SECRETS.command}'` },
    });
    await world.admin.create(BackendClass, {
      metadata: { name: "other" },
      spec: { role: "builder", parameters: { name: SECRETS.parameter } },
    });
    await plantInPlatform();
    await plantInLogs();
    await serveMetrics();
  }

  async function plantInPlatform(): Promise<void> {
    const broker = { ...SYSTEM, name: "db" };
    await world.admin.create(ServiceBroker, {
      metadata: broker,
      spec: {
        name: "db",
        url: "https://broker.example.org",
        credentialsSecretRef: { name: "cupola-broker-credentials", prefix: "db" },
      },
    });
    const message = `the broker answered 401 to {"password":${JSON.stringify(SECRETS.message)}}`;
    const at = `${new Date().toISOString().slice(0, 19)}Z`;
    // The doctor names faults that last.
    const before = `${new Date(Date.now() - 180_000).toISOString().slice(0, 19)}Z`;
    await world.setStatus(ServiceBroker, broker, {
      conditions: [{ type: "Ready", status: "False", reason: "Unauthorized", message, lastTransitionTime: before }],
    });
    await world.admin.create(Event, {
      metadata: { ...SYSTEM, name: "event" },
      involvedObject: { kind: "ServiceBroker", ...broker },
      reason: "Failed",
      message: `GET https://me:${SECRETS.event}@broker.example.org?token=${SECRETS.event} with Bearer ${SECRETS.token}`,
      type: "Warning",
      lastTimestamp: at,
    });
    await world.admin.patch(
      Deployment,
      { ...SYSTEM, name: "cupola-api" },
      {
        type: "strategic",
        body: {
          spec: {
            template: {
              spec: {
                containers: [
                  {
                    name: "cupola",
                    args: ["--operation=api", `--uaa-secret=${SECRETS.argument}`],
                    env: [{ name: "TOKEN", value: SECRETS.variableOfOurs }],
                  },
                ],
              },
            },
          },
        },
      },
    );
  }

  async function serveMetrics(): Promise<void> {
    const metrics = { host: ownAddress(), port: await freePort() };
    await world.stopWebhook();
    await world.startWebhook(metrics);
    await world.createScrapedPod("cupola-webhook-scraped", metrics);
  }

  async function plantInLogs(): Promise<void> {
    const line = (fields: object): string =>
      JSON.stringify({ level: "warn", time: "2026-11-27T20:00:00.000Z", ...fields });
    const split = `${SECRETS.logField.slice(0, 8)}\n${SECRETS.logField.slice(8)}`;
    world.containerLog = (path) =>
      path.includes("previous=true")
        ? `${line({ msg: "ended", body: SECRETS.logBefore })}\n`
        : [
            line({
              msg: "a request failed",
              endpoint: "GET /v3/apps/:guid",
              status: 502,
              value: SECRETS.logField,
              split,
            }),
            line({ msg: `Authorization: Bearer ${SECRETS.logHeader}`, headers: { authorization: SECRETS.logHeader } }),
            line({ msg: `https://me:${SECRETS.logUrl}@example.org is away` }),
            line({
              msg: "failed",
              err: { type: "Error", message: `secret=${SECRETS.logError}`, body: SECRETS.logError },
            }),
            `node:internal password: ${SECRETS.logText}`,
            "",
          ].join("\n");
    await world.setStatus(
      Pod,
      { ...SYSTEM, name: "cupola-api" },
      {
        containerStatuses: [
          { name: "cupola", image: "i", imageID: "i", ready: true, restartCount: 1, state: {}, lastState: {} },
        ],
      },
    );
  }

  const cup = (...args: string[]): Promise<{ code: number; output: string }> =>
    new Promise((resolve) => {
      const all = [CUP, "support-bundle", "--kubeconfig", world.plane.kubeconfig, ...args];
      execFile(process.execPath, all, { timeout: 2 * MINUTE, cwd: world.folder }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }),
      );
    });

  async function unpack(file: string): Promise<Map<string, string>> {
    const files = new Map<string, string>();
    const tar = extract();
    tar.on("entry", ({ name }, stream, next) => {
      const parts: Buffer[] = [];
      stream
        .on("data", (part) => parts.push(part as Buffer))
        .on("end", () => {
          files.set(name.replace(/^[^/]+\//, ""), Buffer.concat(parts).toString());
          next();
        });
    });
    await pipeline(createReadStream(join(world.folder, file)), createGunzip(), tar);
    return files;
  }

  test(
    "has what a helper needs, and none of the secrets",
    async () => {
      const { code, output } = await cup("--output", "bundle.tar.gz");
      expect(code, output).toBe(0);
      const files = await unpack("bundle.tar.gz");
      for (const path of ["doctor.json", "version.json", "cluster/nodes.json", "system/pods.json", "objects/apps.json"])
        expect([...files.keys()]).toContain(path);
      expect(files.get("objects/apps.json")).toContain('"name": "shop"');
      expect(files.get("system/secrets.json")).toContain('"name": "cupola-broker-credentials"');
      expect(files.get("system/deployments.json")).toContain("--operation=api");
      const log = files.get("logs/cupola-api/cupola.log") ?? "";
      expect(log).toContain('"endpoint":"GET /v3/apps/:guid","status":502');
      expect(files.get("logs/cupola-api/cupola.previous.log")).toContain('"msg":"ended"');
      // The test's kubelet has no processes behind it.
      expect(files.get("metrics/cupola-webhook-scraped.txt")).toMatch(/^cupola_build_info\{version="/m);
      const failed = JSON.parse(files.get("errors.json") ?? "[]") as { file: string }[];
      expect(failed.filter(({ file }) => !/^(?:readyz|metrics)\//.test(file))).toEqual([]);
      for (const [path, text] of [...files, ["output", output] as const])
        expect([path, found(text)]).toEqual([path, []]);
      expect((await stat(join(world.folder, "bundle.tar.gz"))).mode & 0o777).toBe(0o600);
    },
    3 * MINUTE,
  );

  test(
    "--anonymous has no name of an org, a space, an app or a broker",
    async () => {
      const { code, output } = await cup("--output", "anonymous.tar.gz", "--anonymous");
      expect(code, output).toBe(0);
      for (const [path, text] of await unpack("anonymous.tar.gz"))
        expect([path, /\b(?:acme|shop|migrate|broker\.example)\b/.exec(`${path} ${text}`)?.[0]]).toEqual([
          path,
          undefined,
        ]);
    },
    3 * MINUTE,
  );

  test(
    "--dry-run lists and writes nothing; a file that is there stays",
    async () => {
      const listed = await cup("--dry-run", "--output", "none.tar.gz", "--since", "1h", "--app", "shop");
      expect(listed.output).toContain("objects/apps.json");
      await expect(stat(join(world.folder, "none.tar.gz"))).rejects.toThrow("ENOENT");
      const again = await cup("--output", "bundle.tar.gz");
      expect([again.code, again.output]).toEqual([1, expect.stringContaining("bundle.tar.gz cannot be written")]);
    },
    3 * MINUTE,
  );
});
