// The API and user of a command: the target, else the Cupola that runs on this laptop.
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { toCredentials } from "../../kube/client/credentials.ts";
import { loadKubeconfig } from "../../kube/client/kubeconfig.ts";
import type { Trust } from "../api/exchange.ts";
import { Failure } from "../failure.ts";
import { readConfig, type Config } from "./config.ts";

/** A target whose API and user are known. */
export interface Target extends Config {
  api: string;
}

/** @throws Failure (target) when nothing is targeted and nothing runs here. */
export function resolveTarget(): Target {
  const config = readConfig();
  if (config.api) return { ...config, api: config.api };
  const local = findLocal();
  if (local) return { user: "admin", ...config, api: local.url, kubeconfig: local.kubeconfig };
  throw new Failure("no API is targeted, and no Cupola runs on this machine", {
    kind: "target",
    next: "cup local start, or: cup login --api URL",
  });
}

/** The Cupola of this laptop. */
interface LocalCupola {
  url: string;
  kubeconfig: string;
  /** The PATH of its builds; homes of older versions do not say it. */
  path: string | undefined;
}

/** The laptop's own, as its home directory says. The directory's layout is local/home.ts's; only three public facts of it are used here, so that `cup` stays quick to start. */
export function findLocal(): LocalCupola | undefined {
  const home = process.env["CUPOLA_HOME"] ?? join(homedir(), ".cupola");
  try {
    const { url, path } = JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as Record<string, unknown>;
    if (typeof url !== "string") return undefined;
    return { url, kubeconfig: join(home, "kubeconfig"), path: typeof path === "string" ? path : undefined };
  } catch {
    return undefined; // nothing runs here
  }
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
