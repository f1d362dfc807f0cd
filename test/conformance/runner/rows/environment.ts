// Environment and ports of an instance.
import { expect, test } from "vitest";
import { Secret } from "../../../../kube/api/builtin.ts";
import { createProbe, instanceOf, PORT } from "../probe-lrp.ts";
import type { RunnerFixtures } from "../environment.ts";

type Variables = Record<string, string | undefined>;

export function environmentRows(given: () => RunnerFixtures): void {
  test.concurrent("an instance has the LRP's variables, exactly as written, and those of Secrets", async () => {
    const { env } = given();
    await env.client.create(Secret, {
      metadata: { namespace: env.namespace, name: "variables" },
      stringData: { password: "p$(PLAIN)ä" },
    });
    const probe = await createProbe(env, "variables", {
      env: [
        { name: "PLAIN", value: "one" },
        { name: "LOOKS_LIKE_AN_EXPANSION", value: "$(PLAIN) $PLAIN $$(PLAIN) %PLAIN%" },
        { name: "QUOTES", value: `'a' "b" \\ \n line` },
        { name: "EMPTY", value: "" },
        { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "variables", key: "password" } } },
      ],
    });
    await probe.running();
    expect(await probe.ask<Variables>(0, "/env")).toMatchObject({
      PLAIN: "one",
      LOOKS_LIKE_AN_EXPANSION: "$(PLAIN) $PLAIN $$(PLAIN) %PLAIN%",
      QUOTES: `'a' "b" \\ \n line`,
      EMPTY: "",
      PASSWORD: "p$(PLAIN)ä",
    });
  });

  test.concurrent("files of bound services are where the variables say", async ({ skip }) => {
    const { env, capabilities } = given();
    skip(capabilities["serviceFiles"] === undefined, "the class claims no serviceFiles");
    await env.client.create(Secret, {
      metadata: { namespace: env.namespace, name: "files" },
      stringData: { f0: "s3cret\n", f1: "{}", other: "not for the app" },
    });
    const probe = await createProbe(env, "files", {
      env: [
        { name: "SERVICE_BINDING_ROOT", value: "/etc/cf-service-bindings" },
        { name: "VCAP_SERVICES_FILE_PATH", value: "/etc/cf-service-bindings/vcap_services" },
      ],
      serviceFiles: {
        mountPath: "/etc/cf-service-bindings",
        secretRef: { name: "files" },
        items: [
          { key: "f0", path: "db.main/pass-word_1" },
          { key: "f1", path: "vcap_services" },
        ],
      },
    });
    await probe.running();
    const { SERVICE_BINDING_ROOT: root = "", VCAP_SERVICES_FILE_PATH: file = "" } = await probe.ask<Variables>(
      0,
      "/env",
    );
    const read = async (path: string): Promise<unknown> => probe.ask(0, `/read?path=${encodeURIComponent(path)}`);
    expect(await read(`${root}/db.main/pass-word_1`)).toEqual({ text: "s3cret\n" });
    expect(await read(file)).toEqual({ text: "{}" });
  });

  test.concurrent("an instance has Cloud Foundry's variables, which win over the LRP's", async () => {
    const { env } = given();
    const own = ["PORT", "CF_INSTANCE_INDEX", "CF_INSTANCE_GUID", "INSTANCE_INDEX", "INSTANCE_GUID"];
    const probe = await createProbe(env, "contract", { env: own.map((name) => ({ name, value: "user" })) });
    const { guid } = await probe.running();
    const variables = await probe.ask<Variables>(0, "/env");
    const { PORT: port = "", CF_INSTANCE_IP: ip = "", CF_INSTANCE_PORT: outside = "" } = variables;
    expect(variables).toMatchObject({
      CF_INSTANCE_INDEX: "0",
      INSTANCE_INDEX: "0",
      CF_INSTANCE_GUID: guid,
      INSTANCE_GUID: guid,
      CF_INSTANCE_INTERNAL_IP: expect.stringMatching(/./),
    });
    expect([ip, port]).toEqual([expect.stringMatching(/^[0-9a-f.:]+$/), expect.stringMatching(/^\d+$/)]);
    expect(variables["CF_INSTANCE_ADDR"]).toMatch(new RegExp(`:${outside}$`));
    expect(JSON.parse(variables["CF_INSTANCE_PORTS"] ?? "")).toEqual([
      expect.objectContaining({ external: Number(outside), internal: Number(port) }),
    ]);
    // The runner has credentials of its own.
    expect(Object.keys(variables).filter((name) => /TOKEN|PASSWORD|KUBECONFIG/.test(name))).toEqual([]);
    if (env.droplet.kind !== "docker")
      expect(variables).toMatchObject({ VCAP_APP_HOST: "0.0.0.0", VCAP_APP_PORT: port });
  });

  test.concurrent("an instance can write to its temporary folder", async () => {
    const probe = await createProbe(given().env, "temporary");
    await probe.running();
    await probe.ask(0, "/write");
  });

  test.concurrent("an instance without ports has no port variables, and runs", async () => {
    const { env, capabilities } = given();
    const probe = await createProbe(env, "portless", {
      ports: [],
      healthCheck: { type: "process" },
      env: [{ name: "PROBE_EXIT", value: "0" }],
    });
    // The probe ends at once, so a crash proves that it ran.
    const { details } = await probe.inState("Crashed");
    expect(details, JSON.stringify(capabilities)).toMatch(/status 0/);
    const idle = await createProbe(env, "portless-idle", { ports: [], healthCheck: { type: "process" } });
    expect((await idle.running()).ports).toBeUndefined();
  });

  test.concurrent("every declared port leads to the instance; PORT is the first", async () => {
    const probe = await createProbe(given().env, "two-ports", { ports: [PORT, PORT + 1] });
    const running = await probe.running();
    expect(running.ports?.map(({ port }) => port)).toEqual([PORT, PORT + 1]);
    const boots = await Promise.all(
      [PORT, PORT + 1].map((port) => probe.ask<{ boot: string }>(0, "/state", port).then(({ boot }) => boot)),
    );
    expect(boots[0]).toBe(boots[1]);
    const { PORT: first, CF_INSTANCE_PORTS: ports = "[]" } = await probe.ask<Variables>(0, "/env");
    expect((JSON.parse(ports) as { internal: number }[]).map(({ internal }) => String(internal))[0]).toBe(first);
    expect(instanceOf(await probe.get(), 0).host).toBeDefined();
  });
}
