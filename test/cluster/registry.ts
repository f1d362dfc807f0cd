// A real OCI registry for tests: Debian's docker-registry on loopback, with authentication and deletion, gone with the process that started it.
import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { freePort } from "./free-port.ts";
import { startGuarded, type GuardedProcess } from "./guarded-process.ts";
import { providePackages, whyNoPackages } from "../../scripts/image/debian-packages.ts";

/** The Debian package with the registry; `usr/bin/docker-registry` in its folder. */
export const REGISTRY_PACKAGE = "docker-registry";
/** The one user that `REGISTRY_HTPASSWD` lets in. */
export const REGISTRY_USER = { username: "cupola", password: "registry-password" } as const;
/** An htpasswd file, bcrypt: docker-registry takes no other hash. */
export const REGISTRY_HTPASSWD = `${REGISTRY_USER.username}:$2y$05$CupolaTestRegistrySalefupJ55Ry3wjpARLAgWtn7GtITcmVAZS\n`;

const READY_DEADLINE_MS = 20_000;

/** `token`: bearer tokens of this service instead of Basic. The certificates (PEM) verify its signatures. */
export interface RegistryOptions {
  token?: { realm: string; service: string; issuer: string; certificates: string };
}

export interface TestRegistry {
  /** `host:port`, plain http. */
  host: string;
  /** The content of a dockerconfigjson with the user's credentials. */
  dockerConfig: string;
  /** Folder with a folder for each repository. */
  repositories: string;
  /** SIGKILL, and after `downMs` a new process on the same data and port. */
  restart(downMs?: number): Promise<void>;
  /** SIGKILL. The data stays until `stop`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Why this machine cannot have a registry, or undefined. */
export function whyNoRegistry(): string | undefined {
  return whyNoPackages([REGISTRY_PACKAGE]);
}

/** Starts a registry and waits until it answers. @throws Error with the end of its log when it does not */
export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  const { root } = await providePackages([REGISTRY_PACKAGE]);
  const program = join(root, "usr/bin/docker-registry");
  const dir = await mkdtemp(join(tmpdir(), "cupola-registry-"));
  const host = `127.0.0.1:${await freePort()}`;
  await mkdir(join(dir, "data"));
  writeFileSync(join(dir, "htpasswd"), REGISTRY_HTPASSWD);
  writeFileSync(join(dir, "token.crt"), options.token?.certificates ?? "");
  writeFileSync(join(dir, "config.yaml"), JSON.stringify(registryConfig({ host, dir, ...options })));
  const start = async (): Promise<GuardedProcess> => {
    const child = startGuarded([program, "serve", join(dir, "config.yaml")], {
      name: REGISTRY_PACKAGE,
      logFile: join(dir, "log"),
      onOrphan: `rm -rf '${dir}'`,
    });
    await untilAnswers(host, child);
    return child;
  };
  let running = await start();
  const auth = Buffer.from(`${REGISTRY_USER.username}:${REGISTRY_USER.password}`).toString("base64");
  return {
    host,
    dockerConfig: JSON.stringify({ auths: { [host]: { auth } } }),
    repositories: join(dir, "data/docker/registry/v2/repositories"),
    kill: () => running.kill(),
    async restart(downMs = 0) {
      await running.kill();
      await delay(downMs);
      running = await start();
    },
    async stop() {
      await running.kill();
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Its configuration file, as an object: YAML takes JSON. `host` is the address to listen at; `dir` holds `htpasswd`, `token.crt` and `data`. */
export function registryConfig({ host, dir, token }: { host: string; dir: string } & RegistryOptions): object {
  return {
    version: "0.1",
    log: { level: "warn", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(dir, "data") }, delete: { enabled: true } },
    http: { addr: host },
    auth: token
      ? {
          token: {
            realm: token.realm,
            service: token.service,
            issuer: token.issuer,
            rootcertbundle: join(dir, "token.crt"),
          },
        }
      : { htpasswd: { realm: "cupola-test", path: join(dir, "htpasswd") } },
  };
}

async function untilAnswers(host: string, child: GuardedProcess): Promise<void> {
  const deadline = Date.now() + READY_DEADLINE_MS;
  while (child.running() && Date.now() < deadline) {
    const status = await request(`http://${host}/v2/`, { signal: AbortSignal.timeout(1000) }).then(
      async ({ statusCode, body }) => {
        await body.dump();
        return statusCode;
      },
      () => undefined,
    );
    if (status === 401) return;
    await delay(20);
  }
  const log = child.log();
  await child.kill();
  throw new Error(`docker-registry did not answer at ${host}:\n${log}`);
}
