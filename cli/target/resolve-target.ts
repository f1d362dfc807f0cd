// The API and user of a command: the target, else the Cupola that runs on this laptop.
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { toCredentials } from "../../kube/client/credentials.ts";
import { loadKubeconfig } from "../../kube/client/kubeconfig.ts";
import type { Trust } from "../api/exchange.ts";
import { Failure } from "../failure.ts";
import { quoteForShell } from "../shell-words.ts";
import { readConfig, type Config } from "./config.ts";
import { findOtherHomes } from "./other-homes.ts";

/** A target whose API and user are known. */
export interface Target extends Config {
  api: string;
}

/** @throws Failure (target) when nothing is targeted and nothing runs here. */
export function resolveTarget(): Target {
  const config = readConfig();
  const local = findLocal();
  if (config.api) return { ...config, api: config.api, ...movedKubeconfig(config, local) };
  if (!local) throw noTarget();
  // The target was in an earlier home at the same place, which is gone.
  const { org, space, home, ...rest } = config;
  const chosen = home === local.id ? omitUndefined({ org, space }) : {};
  return {
    user: "admin",
    ...rest,
    ...chosen,
    ...omitUndefined({ home: local.id }),
    api: local.url,
    kubeconfig: local.kubeconfig,
  };
}

/** The kubeconfig of this laptop's Cupola is where its home is, also after the home was moved. */
function movedKubeconfig({ api, kubeconfig }: Config, local: LocalCupola | undefined): { kubeconfig?: string } {
  const isMoved = local !== undefined && api === local.url && kubeconfig !== undefined && !existsSync(kubeconfig);
  return isMoved ? { kubeconfig: local.kubeconfig } : {};
}

function noTarget(): Failure {
  const [other] = findOtherHomes();
  if (other === undefined)
    return new Failure("no API is targeted, and no Cupola runs on this machine", {
      kind: "target",
      next: "cup local start, or: cup login --api URL",
    });
  return new Failure(`no API is targeted. A Cupola of this machine runs in ${other}`, {
    kind: "target",
    next: `export CUPOLA_HOME=${quoteForShell(other)}`,
  });
}

/** The Cupola of this laptop. */
interface LocalCupola {
  url: string;
  kubeconfig: string;
  /** The id of the home; homes of older versions have none. */
  id: string | undefined;
  /** The PATH of its builds; homes of older versions do not say it. */
  path: string | undefined;
}

/** The laptop's own, as its home directory says. The directory's layout is local/home.ts's; only three public facts of it are used here, so that `cup` stays quick to start. */
export function findLocal(): LocalCupola | undefined {
  const home = process.env["CUPOLA_HOME"] ?? join(homedir(), ".cupola");
  try {
    const { url, path, id } = JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as Record<string, unknown>;
    if (typeof url !== "string") return undefined;
    return { url, kubeconfig: join(home, "kubeconfig"), id: toText(id), path: toText(path) };
  } catch {
    return undefined; // nothing runs here
  }
}

/** The Cupola that runs on this machine, if the API is its. */
export function findOwnCupola(api: string): LocalCupola | undefined {
  const local = findLocal();
  return local !== undefined && URL.parse(local.url)?.origin === URL.parse(api)?.origin ? local : undefined;
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** @throws Failure (target) when the file of the authority cannot be read */
export function trustOf({ ca, skipSslValidation }: Pick<Target, "ca" | "skipSslValidation">): Trust | undefined {
  if (skipSslValidation) return { any: true };
  if (ca === undefined) return undefined;
  try {
    return { ca: readFileSync(ca, "utf8") };
  } catch (cause) {
    throw new Failure(`${ca}, the file of the API's authority, cannot be read`, {
      kind: "target",
      next: "cup login --ca FILE",
      cause,
    });
  }
}

/** The Authorization header of a kubeconfig's user, as `cf` sends it. @throws Failure when the kubeconfig has no credential we can send. */
export async function authorizationOf(target: Pick<Target, "kubeconfig" | "user">): Promise<string> {
  const access = await loadKubeconfig({
    ...(target.kubeconfig && { path: target.kubeconfig }),
    ...(target.user && { context: target.user }),
  }).catch((cause: unknown) => {
    throw new Failure(cause instanceof Error ? cause.message : "the kubeconfig cannot be used", {
      kind: "target",
      next: "cup login",
      cause,
    });
  });
  const { headers, certificate } = typeof access.auth === "function" ? await access.auth() : toCredentials(access.auth);
  if (certificate) return `ClientCert ${Buffer.from(`${certificate.cert}\n${certificate.key}`).toString("base64")}`;
  if (typeof headers["authorization"] === "string") return headers["authorization"];
  throw new Failure("this kubeconfig user has neither a token nor a client certificate", {
    kind: "target",
    next: "cup login --user NAME",
  });
}
