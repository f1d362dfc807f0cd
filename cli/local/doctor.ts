// `cup doctor`: what this machine has of what a laptop's Cupola and its builds need, and what to do about the rest.
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { hostEnvironment } from "../../backends/host/host-environment.ts";
import { findRunning, homeAt, readState, type Home } from "../../local/home.ts";
import { choosePorts, type Ports } from "../../local/ports.ts";
import { cupolaVersion } from "../../platform/version.ts";
import { stdoutColours } from "../colours.ts";
import { bytes, type Result } from "../output.ts";
import type { Finding } from "./finding.ts";
import { readToolchains } from "./toolchains.ts";

export interface DoctorOptions {
  home?: string;
  port?: number;
  kubePort?: number;
}

export async function doctor(options: DoctorOptions): Promise<Result> {
  const home = homeAt(options.home);
  const findings = [
    judgeHome(home),
    judgeDisk(home),
    ...(await judgePorts(home, options)),
    ...(await readToolchains(hostEnvironment().PATH ?? "")),
    ...judgeProxies(process.env, existsSync),
  ];
  const problems = findings.filter(({ verdict }) => verdict === "problem").length;
  if (problems > 0) process.exitCode = 1;
  const width = Math.max(...findings.map(({ about }) => about.length));
  return {
    json: { version: cupolaVersion(), node: process.versions.node, problems, findings },
    text: [
      ...findings.map(({ about, verdict, text }) => `${MARKS[verdict]} ${about.padEnd(width)}   ${text}`),
      "",
      problems === 0 ? "Cupola can start here: cup local start" : `${problems} to mend first, marked ✗.`,
    ],
  };
}

const MARKS = {
  fine: stdoutColours.green("✓"),
  note: stdoutColours.yellow("!"),
  problem: stdoutColours.red("✗"),
} as const;

function judgeHome(home: Home): Finding {
  const existing = nearestFolder(home.dir);
  try {
    accessSync(existing, constants.W_OK);
    const { version } = readState(home);
    return {
      about: "home",
      verdict: "fine",
      text: `${home.dir}${version ? `, of Cupola ${version}` : ", not made yet"}`,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { about: "home", verdict: "problem", text: `${home.dir} cannot be used: ${why}` };
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path));
}

const ENOUGH_DISK = 2 * 2 ** 30;
const LEAST_DISK = 200 * 2 ** 20;

function judgeDisk(home: Home): Finding {
  const { bavail, bsize } = statfsSync(nearestFolder(home.dir));
  const free = bavail * bsize;
  const text = `${bytes(free)} free for ${home.dir}`;
  if (free < LEAST_DISK)
    return { about: "disk", verdict: "problem", text: `${text}: free some space, or use another --home` };
  return free < ENOUGH_DISK
    ? { about: "disk", verdict: "note", text: `${text}; builds may need more` }
    : { about: "disk", verdict: "fine", text };
}

async function judgePorts(home: Home, told: DoctorOptions): Promise<Finding[]> {
  const running = await findRunning(home);
  if (running)
    return [{ about: "ports", verdict: "fine", text: `Cupola runs: ${running.url}, Kubernetes at ${running.kubeUrl}` }];
  const { port, kubePort } = choosePorts(told, readPorts(home));
  return Promise.all([judgePort(port, "--port"), judgePort(kubePort, "--kube-port")]);
}

/** A damaged home is told elsewhere. */
function readPorts(home: Home): Ports | undefined {
  try {
    return readState(home).ports;
  } catch {
    return undefined;
  }
}

function judgePort(port: number, option: string): Promise<Finding> {
  const about = `port ${port}`;
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () =>
      resolve({ about, verdict: "problem", text: `another program has it; start with ${option} and another number` }),
    );
    server.listen(port, "127.0.0.1", () => server.close(() => resolve({ about, verdict: "fine", text: "free" })));
  });
}

const CA_FILES = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];
const PROXIES = ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];

/** Proxies may hold a password, so only their hosts are shown. Pure. */
export function judgeProxies(
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): Finding[] {
  const proxies = PROXIES.flatMap((name): Finding[] => {
    const value = env[name] ?? env[name.toLowerCase()];
    if (!value) return [];
    return [{ about: name, verdict: "fine", text: `${name === "NO_PROXY" ? value : hostOf(value)}; builds use it` }];
  });
  const certificates = CA_FILES.flatMap((name): Finding[] => {
    const file = env[name];
    if (!file) return [];
    return [
      exists(file)
        ? { about: name, verdict: "fine", text: `${file}; builds use it` }
        : { about: name, verdict: "note", text: `${file} does not exist: correct or unset ${name}` },
    ];
  });
  const found = [...proxies, ...certificates];
  return found.length > 0 ? found : [{ about: "proxy", verdict: "fine", text: "none is set" }];
}

function hostOf(proxy: string): string {
  return URL.canParse(proxy) ? new URL(proxy).host : "set, but not a URL";
}
