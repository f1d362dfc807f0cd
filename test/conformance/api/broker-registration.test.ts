// Registers brokers with more than a name and an address: the authority of their certificate, and a client of their dashboard.
import { afterAll, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { ServiceOffering } from "../../../crds/service-offering/service-offering.ts";
import { makeAuthority } from "../../../kube/server/pki.ts";
import { TEST_CATALOG } from "../../service-broker/behaviour.ts";
import { startTestBroker, type TestBroker } from "../../service-broker/test-broker.ts";
import { type ApiHarness, startApiHarness } from "./harness.ts";
import type { Answer } from "./test-env.ts";

const BROKERS = "/v3/service_brokers";
let bench: ApiHarness;
let broker: TestBroker;
beforeAll(async () => {
  bench = await startApiHarness();
  broker = await startTestBroker();
});
afterAll(async () => {
  await bench.testEnv.stop();
  await broker.close();
});

function register(name: string, more: object = {}): Promise<Answer> {
  const { url, username, password } = broker;
  const authentication = { type: "basic", credentials: { username, password } };
  return bench.call("POST", BROKERS, { name, url, authentication, ...more });
}

test("a catalog that asks for a client of its dashboard is taken, with Cloud Foundry's warning", async () => {
  const [service] = TEST_CATALOG.services;
  const secret = "dashboard-secret";
  const client = { id: "client", secret, redirect_uri: "https://dashboard.example.com" };
  broker.set({ catalog: { services: [{ ...service, dashboard_client: client }] } });
  const { state, warnings } = await bench.job(await register("with-dashboard"));
  const words = /^Warning: This broker includes configuration for a dashboard client\./;
  expect([state, warnings]).toEqual(["COMPLETE", [{ detail: expect.stringMatching(words) as string }]]);
  const offerings = await bench.testEnv.kube.list(ServiceOffering, { namespace: SYSTEM_NAMESPACE });
  expect(offerings.items.some(({ spec }) => spec.dashboardClient === true)).toBe(true);
  expect(JSON.stringify(offerings)).not.toContain(secret);
});

test("a bundle of the broker's own authority is shown, and taken away; no other text is one", async () => {
  broker.set({ catalog: TEST_CATALOG });
  const { cert } = await makeAuthority("the broker's");
  expect((await bench.job(await register("with-bundle", { ca_bundle: cert }))).state).toBe("COMPLETE");
  const [{ guid }] = (await bench.read(`${BROKERS}?names=with-bundle`)).resources;
  const at = `${BROKERS}/${guid}`;
  expect((await bench.read(at)).ca_bundle).toBe(cert);
  const refused = await bench.call("PATCH", at, { ca_bundle: "nothing" });
  const words = "is no bundle of certificates: it has no certificate in PEM";
  expect([refused.status, refused.json.errors[0].detail]).toEqual([422, expect.stringContaining(words)]);
  expect((await bench.job(await bench.call("PATCH", at, { ca_bundle: null }))).state).toBe("COMPLETE");
  expect((await bench.read(at)).ca_bundle).toBeUndefined();
});
