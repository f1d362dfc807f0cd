// Loads cluster access from a kubeconfig or a pod's service account. Handles plain token and certificate users; exec plugins,
// OIDC and the rest use @kubernetes/client-node, imported on demand because it loads slowly.
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import type { Identity } from "./client.ts";
import type { ClusterAccess } from "./create-client.ts";
import type { CredentialSource } from "./credentials.ts";
import { readDocument, USER_FIELDS, type UserEntry } from "./kubeconfig-document.ts";

/** Access from one context of a kubeconfig. */
export interface KubeconfigAccess extends ClusterAccess {
  auth: Identity | CredentialSource;
  /** The context's namespace; "default" when it has none. */
  namespace: string;
  context: string;
}

export interface KubeconfigOptions {
  /** A file; by default the first entry of $KUBECONFIG, else ~/.kube/config. */
  path?: string;
  /** The current context by default. */
  context?: string;
}

/** @throws Error that names the file and the wrong field, without credentials */
export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<KubeconfigAccess> {
  const path = options.path ?? defaultPath();
  try {
    const text = await readFile(path, "utf8");
    return await toAccess(text, { base: dirname(resolve(path)), ...(options.context && { context: options.context }) });
  } catch (cause) {
    throw new Error(`kubeconfig ${path} cannot be used: ${cause instanceof Error ? cause.message : "unknown error"}`, {
      cause,
    });
  }
}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The pod's service account. Its token rotates, so it is read again each minute. @throws Error outside a pod */
export async function loadInCluster(mount = ACCOUNT): Promise<KubeconfigAccess> {
  const host = process.env["KUBERNETES_SERVICE_HOST"];
  const port = process.env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (!host) throw new Error("not in a pod: KUBERNETES_SERVICE_HOST is not set");
  const [ca, namespace] = await Promise.all([
    readFile(join(mount, "ca.crt"), "utf8"),
    readFile(join(mount, "namespace"), "utf8"),
  ]);
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca,
    auth: tokenFile(join(mount, "token")),
    namespace: namespace.trim(),
    context: "in-cluster",
  };
}

/** Parses the text of a kubeconfig. Relative file names are relative to `base`. */
export async function toAccess(text: string, options: { base: string; context?: string }): Promise<KubeconfigAccess> {
  const document = readDocument(parse(text, { maxAliasCount: 50, prettyErrors: false }));
  const name = options.context ?? document.currentContext;
  if (!name) throw new Error("it has no current-context; name one");
  const context = pick(document.contexts, "context", name).entry;
  const cluster = pick(document.clusters, "cluster", context.cluster).entry;
  const user = context.user ? pick(document.users, "user", context.user).entry : {};
  const ca = await readContent(options.base, cluster["certificate-authority"], cluster["certificate-authority-data"]);
  return {
    server: cluster.server,
    ...(ca !== undefined && { ca }),
    ...(cluster["insecure-skip-tls-verify"] && { insecure: true }),
    ...(cluster["tls-server-name"] && { serverName: cluster["tls-server-name"] }),
    auth: await toAuth(user, { text, base: options.base, context: name }),
    namespace: context.namespace ?? "default",
    context: name,
  };
}

function pick<T extends { name: string }>(entries: readonly T[], what: string, name: string): T {
  const found = entries.find((entry) => entry.name === name);
  if (!found) throw new Error(`it has no ${what} named ${name}`);
  return found;
}

async function toAuth(
  user: UserEntry,
  from: { text: string; base: string; context: string },
): Promise<Identity | CredentialSource> {
  const isSimple = Object.keys(user).every((key) => USER_FIELDS.has(key)) && !user.as;
  if (!isSimple) return clientNodeAuth(from);
  if (user.tokenFile) return tokenFile(resolve(from.base, user.tokenFile));
  if (user.token) return { kind: "token", token: user.token };
  const cert = await readContent(from.base, user["client-certificate"], user["client-certificate-data"]);
  const key = await readContent(from.base, user["client-key"], user["client-key-data"]);
  return cert && key ? { kind: "certificate", cert, key } : { kind: "anonymous" };
}

async function readContent(
  base: string,
  file: string | undefined,
  data: string | undefined,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, "base64").toString("utf8");
  return file ? readFile(resolve(base, file), "utf8") : undefined;
}

function defaultPath(): string {
  return (
    process.env["KUBECONFIG"]?.split(delimiter).find((entry) => entry !== "") ?? join(homedir(), ".kube", "config")
  );
}

/** Reads a token file at most once a minute, and after the token was rejected. */
function tokenFile(path: string): CredentialSource {
  let known: { token: string; readAt: number } | undefined;
  return async ({ renew = false } = {}) => {
    if (renew || !known || performance.now() - known.readAt > 60_000)
      known = { token: (await readFile(path, "utf8")).trim(), readAt: performance.now() };
    return { headers: { authorization: `Bearer ${known.token}` } };
  };
}

/** Every other kind of user. The library caches exec credentials until they expire. */
async function clientNodeAuth(from: { text: string; context: string }): Promise<CredentialSource> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromString(from.text);
  config.setCurrentContext(from.context);
  return async () => {
    const options: { headers?: Record<string, string>; cert?: string | Buffer; key?: string | Buffer; auth?: string } =
      {};
    await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0]);
    const { cert, key } = options;
    const basic = options.auth ? { authorization: `Basic ${Buffer.from(options.auth).toString("base64")}` } : {};
    const headers = Object.fromEntries(
      Object.entries({ ...options.headers, ...basic }).map(([name, value]) => [name.toLowerCase(), value]),
    );
    return { headers, ...(cert && key && { certificate: { cert: cert.toString(), key: key.toString() } }) };
  };
}
