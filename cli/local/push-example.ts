// The first start pushes an example app, so that there is something to look at.
import { join } from "node:path";
import { findRunning, type Home } from "../../local/home.ts";
import { LOCAL_ORG, LOCAL_SPACE } from "../../local/seed.ts";
import { apiClient } from "../api/client.ts";
import { contextFor, getNamed, type Context } from "../context.ts";
import type { Progress } from "../output.ts";
import { readManifest } from "../push/manifest.ts";
import { pushApp } from "../push/push.ts";
import { authorizationOf } from "../target/resolve-target.ts";

const EXAMPLE = join(import.meta.dirname, "..", "..", "examples", "hello");

/** Pushes examples/hello. Its URL. */
export async function pushExample(home: Home, progress: Progress): Promise<string | undefined> {
  const running = await findRunning(home);
  if (!running) return undefined;
  const target = { api: running.url, kubeconfig: home.kubeconfig, user: "admin" };
  const api = apiClient(running.url, await authorizationOf(target));
  const context = await targetSeedSpace(contextFor(target, api, progress));
  const manifest = readManifest("hello", { manifest: false, path: EXAMPLE, memory: "128M" });
  const [entry] = manifest.applications;
  if (!entry) return undefined;
  const { urls } = await pushApp(context, entry, { manifest, start: true });
  return urls[0];
}

/** The same context in the first org and space, however many there are by now. */
async function targetSeedSpace(context: Context): Promise<Context> {
  const org = await getNamed(context.api, "/v3/organizations", LOCAL_ORG);
  const space = await getNamed(context.api, "/v3/spaces", LOCAL_SPACE, { organization_guids: org.guid });
  return contextFor({ ...context.target, org, space }, context.api, context.progress);
}
