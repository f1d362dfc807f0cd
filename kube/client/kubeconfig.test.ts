// Kubeconfigs with every kind of user, and errors of broken ones.
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadKubeconfig, toAccess } from "./kubeconfig.ts";

let dir = "";
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), "kubeconfig-"))));
afterAll(() => rm(dir, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString("base64");
const config = (user: unknown, more = {}) =>
  stringify({
    "current-context": "one",
    clusters: [
      { name: "c", cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": base64("CA"), ...more } },
    ],
    contexts: [
      { name: "one", context: { cluster: "c", user: "u", namespace: "ns" } },
      { name: "two", context: { cluster: "c" } },
      { name: "lost", context: { cluster: "none" } },
    ],
    users: [{ name: "u", user }],
  });

it("reads tokens, certificates, files and contexts", async () => {
  expect(await toAccess(config({ token: "t" }), { base: dir })).toEqual({
    server: "https://127.0.0.1:6443",
    ca: "CA",
    auth: { kind: "token", token: "t" },
    namespace: "ns",
    context: "one",
  });
  expect(
    await toAccess(config({ token: "t" }, { "insecure-skip-tls-verify": true, "tls-server-name": "n" }), {
      base: dir,
      context: "two",
    }),
  ).toMatchObject({ insecure: true, serverName: "n", auth: { kind: "anonymous" }, namespace: "default" });
  await writeFile(join(dir, "key.pem"), "KEY");
  expect(
    (await toAccess(config({ "client-certificate-data": base64("CERT"), "client-key": "key.pem" }), { base: dir }))
      .auth,
  ).toEqual({ kind: "certificate", cert: "CERT", key: "KEY" });
  await writeFile(join(dir, "token"), "from-file\n");
  const { auth } = await toAccess(config({ tokenFile: "token" }), { base: dir });
  expect(typeof auth === "function" && (await auth())).toEqual({ headers: { authorization: "Bearer from-file" } });
});

it("delegates exec plugins to the library", async () => {
  const plugin = join(dir, "plugin");
  await writeFile(
    plugin,
    `#!/bin/sh\necho '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'\n`,
  );
  await chmod(plugin, 0o755);
  const { auth } = await toAccess(
    config({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" } }),
    { base: dir },
  );
  expect(typeof auth === "function" && (await auth())).toMatchObject({
    headers: { authorization: "Bearer from-plugin" },
  });
});

it("names the error and its place without quoting credentials", async () => {
  const file = join(dir, "bad");
  await writeFile(file, config({ token: ["secret-token"] }));
  const message = await loadKubeconfig({ path: file }).then(() => expect.unreachable(), String);
  expect(message).toContain(file);
  expect(message).toContain("users.0.user.token");
  expect(message).not.toContain("secret-token");
  await expect(toAccess(config({}), { base: dir, context: "nope" })).rejects.toThrow("no context named nope");
  await expect(toAccess(config({}), { base: dir, context: "lost" })).rejects.toThrow("no cluster named none");
  await expect(loadKubeconfig({ path: join(dir, "absent") })).rejects.toThrow("cannot be used");
});

it.each([
  ["no document", "", "the file: it has no fields"],
  ["a list that is none", "clusters: c", "clusters: it is no list"],
  ["an entry without a name", "users: [{user: {}}]", "users.0.name: it is no text"],
  ["no URL", "clusters: [{name: c, cluster: {server: here}}]", "clusters.0.cluster.server: it is no URL"],
  ["no cluster", "contexts: [{name: c, context: {}}]", "contexts.0.context.cluster: it is missing"],
  ["nothing current", "clusters: null\ncurrent-context: null", "it has no current-context; name one"],
])("refuses %s", async (_what, text, message) => {
  await expect(toAccess(text, { base: dir })).rejects.toThrow(message);
});

it("quotes nothing of a file that is not YAML", async () => {
  await writeFile(join(dir, "broken"), "users:\n- name: u\n  user: {token: hunter2\n");
  const error = (await loadKubeconfig({ path: join(dir, "broken") }).catch((thrown: unknown) => thrown)) as Error;
  expect(error.message).toMatch(/cannot be used/);
  expect(`${error.message} ${String(error.cause)}`).not.toContain("hunter2");
});
