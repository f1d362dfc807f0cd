// Both servers with the kinds of the sequences installed. The real one runs without controllers: they would write between two steps.
import { setTimeout as delay } from "node:timers/promises";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type Api, connect, type Endpoint } from "../kubernetes/api.ts";
import { startEmbedded } from "../embedded-server.ts";
import type { Pair } from "./fuzz.ts";
import { definitions } from "./kinds.ts";

const SERVED_MS = 30_000;
const ADDRESSES_MS = 120_000;

export interface Servers extends Pair {
  stop(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  const disposers: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of disposers.toReversed()) await end();
  };
  const open = async (server: Endpoint & { stop(): Promise<void> }): Promise<Api> => {
    disposers.push(server.stop);
    const connection = connect(server);
    disposers.push(connection.close);
    await Promise.all(definitions.map((definition) => install(connection.api, definition)));
    return connection.api;
  };
  try {
    const real = await open(await startControlPlane({ controllers: false }));
    await untilAddresses(real);
    return { embedded: await open(await startEmbedded()), real, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** kube-apiserver has addresses for Services some seconds after it is ready; until then a create of one waits. */
async function untilAddresses(api: Api): Promise<void> {
  const deadline = Date.now() + ADDRESSES_MS;
  for (;;) {
    const made = await api
      .post("/api/v1/namespaces/default/services", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { generateName: "probe-" },
        spec: { ports: [{ port: 80 }] },
      })
      .catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (made.status === 201) return;
    if (Date.now() > deadline)
      throw new Error(`no address for a Service within ${ADDRESSES_MS / 1000} s: ${made.text}`);
    await delay(500);
  }
}

async function install(
  api: Api,
  definition: { spec: { group: string; names: { plural: string }; versions: { name: string }[] } },
): Promise<void> {
  const { status, text } = await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  if (status !== 201) throw new Error(`a definition was refused: ${text}`);
  const { group, names, versions } = definition.spec;
  const deadline = Date.now() + SERVED_MS;
  while ((await api.get(`/apis/${group}/${versions[0]?.name}/${names.plural}?limit=1`)).status !== 200) {
    if (Date.now() > deadline) throw new Error(`${names.plural}.${group} is not served within ${SERVED_MS / 1000} s`);
    await delay(100);
  }
}
