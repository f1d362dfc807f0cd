// The program of the Helm chart's Jobs: `apply FILE …` writes objects of our own kinds, `delete-data` deletes all that only controllers can end.
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import { DEFINITIONS } from "../crds/definitions.ts";
import type { KubeObject } from "../kube/api/object.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { createClient } from "../kube/client/create-client.ts";
import { loadInCluster } from "../kube/client/kubeconfig.ts";
import { DELETION_TIMES, deleteData } from "./delete-data.ts";
import { applyObjects, waitUntilServed } from "./install.ts";

const USAGE = "usage: settings-job.ts apply FILE … | delete-data";
const DEADLINE_MS = 120_000;
const POLL_MS = 500;

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

function readObjects(files: readonly string[]): KubeObject[] {
  return files
    .flatMap((file) => parseAllDocuments(readFileSync(file, "utf8")))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** Settings of an operator that the files do not name stay. New roles and policies take seconds to work, so a refusal is tried again. @throws KubeError at the deadline */
async function applySettings(client: KubeClient, files: readonly string[]): Promise<void> {
  const objects = readObjects(files);
  const kinds = new Set(objects.map(({ kind }) => kind));
  await Promise.all(DEFINITIONS.filter(({ kind }) => kinds.has(kind)).map((ref) => waitUntilServed(client, ref)));
  const deadline = Date.now() + DEADLINE_MS;
  for (const object of objects) await applyUntil(client, object, deadline);
  report(`applied ${objects.length} objects`);
}

async function applyUntil(client: KubeClient, object: KubeObject, deadline: number): Promise<void> {
  for (;;) {
    try {
      await applyObjects(client, [object]);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      report(`${object.kind} ${object.metadata.name}: ${String(error)}; trying again`);
      await delay(POLL_MS);
    }
  }
}

const [command, ...files] = process.argv.slice(2);
const client = createClient(await loadInCluster());
try {
  if (command === "apply" && files.length > 0) await applySettings(client, files);
  else if (command === "delete-data") await deleteData(client, DELETION_TIMES, report);
  else throw new Error(USAGE);
} catch (error) {
  report(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  await client.close();
}
