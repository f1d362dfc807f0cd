// Internal domains on a real node whose NetworkPolicies are enforced: names lead to instances, all of them or one, and policies say who connects.
// By name: `npm run e2e -- --on node internal-routes`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { tokenOf } from "./support/api.ts";
import { cfOn, whyNoCf } from "./support/cf.ts";
import { chosenPlatformKind, startTestPlatform } from "./support/start-test-platform.ts";
import type { TestPlatform } from "./support/test-platform.ts";

const SLOW_MS = 240_000;
const reason = chosenPlatformKind() === "node" ? whyNoCf() : "it needs --on node";
if (reason) console.log(`internal routes skipped: ${reason}`);

/** Tells the addresses of a name, and what another app answers; `/exit` ends the instance. */
const SERVER = `
const { resolve4 } = require("dns").promises;
// Each time a connection of its own: a policy that ends leaves open ones alone.
const ask = (url) => new Promise((resolve, reject) => {
  const request = require("http").get(url, { agent: false, timeout: 4000 }, async (answer) => {
    let text = "";
    for await (const chunk of answer) text += chunk;
    resolve(text);
  });
  request.on("timeout", () => request.destroy(new Error("no answer")));
  request.on("error", reject);
});
const answers = {
  "/resolve": (url) => resolve4(url.searchParams.get("name")).catch((error) => error.code),
  "/ask": (url) => ask(url.searchParams.get("url")),
  "/exit": () => process.exit(1),
};
require("http").createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const answer = answers[url.pathname] ?? (() => process.env.CF_INSTANCE_INDEX);
  try { response.end(JSON.stringify(await answer(url))); }
  catch (error) { response.statusCode = 500; response.end(error.message); }
}).listen(process.env.PORT);
`;

describe.skipIf(reason)("internal routes", { timeout: 900_000 }, () => {
  let stage: TestPlatform;

  beforeAll(async () => {
    stage = await startTestPlatform({ networkPolicy: true, internalDNS: true });
    const folder = join(stage.home, "names");
    mkdirSync(folder);
    writeFileSync(join(folder, "server.js"), SERVER);
    await eventually(() => cf("api", stage.url), SLOW_MS);
    await cf("auth", "admin");
    await cf("create-shared-domain", "apps.internal", "--internal");
    await cf("target", "-o", "local", "-s", "dev");
    await cf("push", "caller", "-p", folder, "-m", "128M");
    await cf("push", "shop", "-p", folder, "-m", "128M", "-i", "2", "--no-route");
    await cf("create-space", "far", "-o", "local");
    await cf("target", "-o", "local", "-s", "far");
    await cf("push", "away", "-p", folder, "-m", "128M", "--no-route");
    await cf("map-route", "away", "apps.internal", "--hostname", "away");
    await cf("target", "-o", "local", "-s", "dev");
  }, 1_800_000);
  afterAll(async () => await stage?.stop(), 240_000);

  async function cf(...args: string[]): Promise<string> {
    const { code, output } = await cfOn(stage)(...args);
    expect(code, `cf ${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }

  const resolve = async (name: string): Promise<unknown> => {
    const { status, body } = await stage.get("caller.apps.localhost", `/resolve?name=${name}`);
    expect(status, body).toBe(200);
    return JSON.parse(body);
  };
  const ask = async (url: string): Promise<number> =>
    (await stage.get("caller.apps.localhost", `/ask?url=${encodeURIComponent(url)}`)).status;

  test("a mapped name has the addresses of all instances, a number before it the address of one", async () => {
    expect(await resolve("shop.apps.internal")).toBe("ENOTFOUND");
    await cf("map-route", "shop", "apps.internal", "--hostname", "shop");
    const all = await eventually(async () => {
      const found = await resolve("shop.apps.internal");
      expect(found).toHaveLength(2);
      return found as string[];
    }, SLOW_MS);
    const each = [await resolve("0.shop.apps.internal"), await resolve("1.shop.apps.internal")] as string[][];
    expect(each.flat().toSorted()).toEqual(all.toSorted());
    expect(await resolve("2.shop.apps.internal")).toBe("ENOTFOUND");
    const { body } = await stage.get(
      "caller.apps.localhost",
      `/ask?url=${encodeURIComponent("http://1.shop.apps.internal:8080/")}`,
    );
    expect(body).toContain("1");
    const { output } = await stage.kubectl("get", "routebindings", "-n", "local-dev", "-o", "wide");
    expect(output).toMatch(/shop\.apps\.internal +internal-dns/);
  });

  test("it follows when the app is scaled", async () => {
    await cf("scale", "shop", "-i", "1");
    await eventually(async () => expect(await resolve("1.shop.apps.internal")).toBe("ENOTFOUND"), SLOW_MS);
    expect(await resolve("shop.apps.internal")).toEqual(await resolve("0.shop.apps.internal"));
  });

  test("a crashed instance is left out until it is back", async () => {
    await eventually(async () => {
      await ask("http://shop.apps.internal:8080/exit");
      expect(await resolve("shop.apps.internal")).toBe("ENODATA");
    }, SLOW_MS);
    await eventually(async () => expect(await resolve("shop.apps.internal")).toHaveLength(1), SLOW_MS);
    await eventually(async () => expect(await ask("http://shop.apps.internal:8080/")).toBe(200), SLOW_MS);
  });

  test("an app of another space has a name, and is reached while a policy opens it", async () => {
    const url = "http://away.apps.internal:8080/";
    await eventually(async () => expect(await resolve("away.apps.internal")).toHaveLength(1), SLOW_MS);
    expect(await ask(url)).toBe(500);
    const file = join(stage.home, "policy.json");
    const policy = {
      apiVersion: "cupola.dev/v1alpha1",
      kind: "AppPolicy",
      metadata: { name: "caller-away", namespace: "local-far" },
      spec: {
        source: { namespace: "local-dev", app: "caller" },
        destination: { app: "away" },
        ports: { start: 8080, end: 8080 },
      },
    };
    writeFileSync(file, JSON.stringify(policy));
    expect(await stage.kubectl("apply", "-f", file)).toMatchObject({ code: 0 });
    await eventually(async () => expect(await ask(url)).toBe(200), SLOW_MS);
    expect(await stage.kubectl("delete", "-f", file)).toMatchObject({ code: 0 });
    await eventually(async () => expect(await ask(url)).toBe(500), SLOW_MS);
  });

  test("stock cf opens and closes the way to an app of another space", async () => {
    const url = "http://away.apps.internal:8080/";
    const token = cfOn(stage, { user: "token" });
    mkdirSync(join(stage.home, "cf-token"), { recursive: true });
    const done = async (...args: string[]): Promise<string> => {
      const { code, output } = await token(...args);
      expect(code, `cf ${args[0]}\n${output}`).toBe(0);
      return output;
    };
    await done("api", stage.url.replace("localhost", "127.0.0.1"));
    await done("auth", "admin", tokenOf(stage, "admin"));
    await done("target", "-o", "local", "-s", "dev");
    const ports = ["-s", "far", "--protocol", "tcp", "--port", "8080"];
    expect(await ask(url)).toBe(500);
    await done("add-network-policy", "caller", "away", ...ports);
    await eventually(async () => expect(await ask(url)).toBe(200), SLOW_MS);
    expect(await done("network-policies", "--source", "caller")).toContain("away");
    await done("remove-network-policy", "caller", "away", ...ports);
    await eventually(async () => expect(await ask(url)).toBe(500), SLOW_MS);
  });

  test("a route service with an address inside the cluster gets no request", async () => {
    const [kubernetes = ""] = await clusterAddresses();
    const inside = [kubernetes, "127.0.0.1", "169.254.169.254", "kubernetes.default.svc.cluster.local"];
    for (const [at, host] of inside.entries()) {
      const [service, name] = [`inside-${at}`, `caller-${at}`];
      await cf("create-user-provided-service", service, "-r", `https://${host}/`);
      await cf("map-route", "caller", "apps.localhost", "--hostname", name);
      await cf("bind-route-service", "apps.localhost", "--hostname", name, service);
      await eventually(async () => {
        const { status, body } = await stage.get(`${name}.apps.localhost`);
        expect([host, status, body]).toEqual([host, 502, expect.stringContaining("route service")]);
        // Neither the answer of the API server, nor anything of it.
        expect(body).not.toMatch(/apiVersion|Unauthorized|certificate/);
      }, SLOW_MS);
    }
  });

  const clusterAddresses = async (): Promise<string[]> => {
    const { output } = await stage.kubectl(
      ...["get", "service", "kubernetes", "-n", "default", "-o", "jsonpath={.spec.clusterIP}"],
    );
    return [output.trim()];
  };

  test("an unmapped name is gone", async () => {
    await cf("unmap-route", "shop", "apps.internal", "--hostname", "shop");
    await cf("delete-route", "apps.internal", "--hostname", "shop", "-f");
    await eventually(async () => expect(await resolve("shop.apps.internal")).toBe("ENOTFOUND"), SLOW_MS);
  });
});
