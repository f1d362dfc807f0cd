// Both servers with the kinds of the sequences installed. The real one runs without controllers: they would write between two steps.
import { setTimeout as delay } from "node:timers/promises";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { type Api, connect, type Endpoint } from "../kubernetes/api.ts";
import { startEmbedded } from "../kubernetes/embedded-server.ts";
import type { Pair } from "./fuzz.ts";
import { definitions } from "./kinds.ts";

const SERVED_MS = 30_000;

export interface Servers extends Pair {
  stop(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  const ends: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const end of ends.toReversed()) await end();
  };
  const open = async (server: Endpoint & { stop(): Promise<void> }): Promise<Api> => {
    ends.push(server.stop);
    const connection = connect(server);
    ends.push(connection.close);
    await Promise.all(definitions.map((definition) => install(connection.api, definition)));
    return connection.api;
  };
  try {
    return { embedded: await open(await startEmbedded()), real: await open(await startControlPlane({ controllers: false })), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function install(api: Api, definition: { spec: { group: string; names: { plural: string }; versions: { name: string }[] } }): Promise<void> {
  const { status, text } = await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  if (status !== 201) throw new Error(`a definition was refused: ${text}`);
  const { group, names, versions } = definition.spec;
  const deadline = Date.now() + SERVED_MS;
  while ((await api.get(`/apis/${group}/${versions[0]?.name}/${names.plural}?limit=1`)).status !== 200) {
    if (Date.now() > deadline) throw new Error(`${names.plural}.${group} is not served within ${SERVED_MS / 1000} s`);
    await delay(100);
  }
}
