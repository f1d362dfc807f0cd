// The contract of variables that an app may rely on.
import { describe, expect, it } from "vitest";
import { instanceEnvironment } from "./instance-environment.ts";

const input = {
  env: {
    GREETING: "hello",
    VCAP_APPLICATION: '{"application_id":"a","name":"x"}',
    VCAP_SERVICES: '{"user-provided":[]}',
  },
  index: 2,
  instanceGuid: "guid-2",
  ports: [
    { port: 8080, hostPort: 20001 },
    { port: 9090, hostPort: 20002 },
  ],
  memoryMB: 256,
  address: "127.0.0.1",
  home: "/i/home",
  tmp: "/i/tmp",
  appDir: "/d/app",
  path: "/bin",
};

describe("instanceEnvironment", () => {
  it("has the addresses, the index and the limits of the instance", () => {
    const { VCAP_APPLICATION, ...rest } = instanceEnvironment(input);
    expect(rest).toEqual({
      GREETING: "hello",
      VCAP_SERVICES: '{"user-provided":[]}',
      PORT: "20001",
      VCAP_APP_PORT: "20001",
      VCAP_APP_HOST: "0.0.0.0",
      HOST: "127.0.0.1",
      CF_INSTANCE_INDEX: "2",
      INSTANCE_INDEX: "2",
      CF_INSTANCE_GUID: "guid-2",
      INSTANCE_GUID: "guid-2",
      CF_INSTANCE_IP: "127.0.0.1",
      CF_INSTANCE_INTERNAL_IP: "127.0.0.1",
      CF_INSTANCE_PORT: "20001",
      CF_INSTANCE_ADDR: "127.0.0.1:20001",
      CF_INSTANCE_PORTS: '[{"external":20001,"internal":20001},{"external":20002,"internal":20002}]',
      HOME: "/i/home",
      TMPDIR: "/i/tmp",
      PWD: "/d/app",
      PATH: "/bin",
      LANG: "en_US.UTF-8",
      USER: "vcap",
      MEMORY_LIMIT: "256m",
    });
    expect(JSON.parse(VCAP_APPLICATION ?? "")).toEqual({
      application_id: "a",
      name: "x",
      host: "0.0.0.0",
      instance_id: "guid-2",
      instance_index: 2,
      port: 20001,
    });
  });

  it("has empty addresses and no PORT without ports", () => {
    const env = instanceEnvironment({ ...input, ports: [] });
    expect(env).toMatchObject({ CF_INSTANCE_PORT: "", CF_INSTANCE_ADDR: "", CF_INSTANCE_PORTS: "[]" });
    expect(env).not.toHaveProperty("PORT");
  });

  it.each([
    ["the user may choose the language", { LANG: "C" }, { LANG: "C" }],
    ["the user may choose where the app listens", { HOST: "::" }, { HOST: "::" }],
    ["the user may not choose another port", { PORT: "1" }, { PORT: "20001" }],
    ["a malformed VCAP_APPLICATION is unchanged", { VCAP_APPLICATION: "[" }, { VCAP_APPLICATION: "[" }],
    ["VCAP_SERVICES is set without bindings", {}, { VCAP_SERVICES: "{}" }],
  ])("%s", (_name, env, wanted) => {
    expect(instanceEnvironment({ ...input, env })).toMatchObject(wanted);
  });

  it("takes nothing from the platform's own environment", () => {
    process.env.CUPOLA_TEST_SECRET = "do not pass on";
    expect(JSON.stringify(instanceEnvironment(input))).not.toContain("do not pass on");
  });
});
