// Runs every row of the contract on one server. The servers' own test files say how to start it and what it is known not to do.
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import type { KeyPair, Subject } from "../../../kube/server/pki.ts";
import { connect, type Api, type Endpoint } from "./api.ts";
import { widgetCrd, type Scene } from "./row.ts";
import { tables } from "./tables.ts";

/** A started server. */
export interface Server extends Endpoint {
  issueClient(subject: Subject): Promise<KeyPair>;
  stop(): Promise<void>;
}

export interface ServerUnderTest {
  name: string;
  start(): Promise<Server>;
  /** Rows it is known not to keep, by name, each with the reason. */
  gaps: Record<string, string>;
}

/** Declares one test per row. A gap that names no row is an error: the list stays true. */
export function kubernetesApiTests(target: ServerUnderTest): void {
  const names = Object.entries(tables).flatMap(([table, rows]) => rows.map((row) => `${table}: ${row.name}`));
  const unknown = Object.keys(target.gaps).filter((gap) => !names.includes(gap));
  if (unknown.length > 0) throw new Error(`gaps of ${target.name} name no row: ${unknown.join("; ")}`);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  if (twice.length > 0) throw new Error(`rows with one name: ${twice.join("; ")}`);

  describe(`${target.name} keeps the contract`, () => {
    let server: Server;
    let connection: ReturnType<typeof connect>;
    let count = 0;

    beforeAll(async () => {
      server = await target.start();
      connection = connect(server);
      await installWidgets(connection.api);
    }, 120_000);

    afterAll(async () => {
      await connection?.close();
      await server?.stop();
    });

    const unique = (prefix: string) => `${prefix}-${++count}`;
    for (const [table, rows] of Object.entries(tables)) {
      describe(table, () => {
        for (const { name, run } of rows) {
          const gap = target.gaps[`${table}: ${name}`];
          if (gap) test.skip(`${name} [gap: ${gap}]`, () => undefined);
          else test(name, async () => await run(await makeScene(server, connection.api, unique)), ROW_MS);
        }
      });
    }
  });
}

/** kube-controller-manager looks for new kinds every 30 s: until then its garbage collector does not know a CRD. */
const EVENTUALLY_MS = 45_000;
const ROW_MS = 100_000;

async function makeScene(server: Server, api: Api, unique: Scene["unique"]): Promise<Scene> {
  const ns = unique("row");
  const { status, text } = await api.post("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: ns },
  });
  if (status !== 201) throw new Error(`no namespace for the row: ${text}`);
  return {
    api,
    ns,
    unique,
    issueClient: (subject) => server.issueClient(subject),
    eventually: (check) => vi.waitFor(check, { timeout: EVENTUALLY_MS, interval: 50 }),
  };
}

async function installWidgets(api: Api): Promise<void> {
  const { status, text } = await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetCrd);
  if (status !== 201) throw new Error(`the Widget kind was not accepted: ${text}`);
  await vi.waitFor(
    async () => {
      const answer = await api.get("/apis/conformance.example/v1/widgets");
      if (answer.status !== 200) throw new Error(`widgets are not served: ${answer.text}`);
    },
    { timeout: 20_000, interval: 50 },
  );
}
