// Docker's logins of the user: the file, and the helpers that it names.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { helperEnvironment, helperOf, userCredentials } from "./user-credentials.ts";

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "cupola-docker-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (config: unknown): Promise<void> => writeFile(join(folder, "config.json"), JSON.stringify(config));
const ask = (host: string) => userCredentials(folder, { PATH: `${folder}:/usr/bin:/bin` })(host, "team/bp");
const auth = Buffer.from("ann:secret").toString("base64");

test("no file means no credentials", async () => {
  expect(await ask("ghcr.io")).toBeUndefined();
});

test("the file's own logins", async () => {
  await write({ auths: { "ghcr.io": { auth }, "https://index.docker.io/v1/": { auth } } });
  expect(await ask("ghcr.io")).toEqual({ username: "ann", password: "secret" });
  expect(await ask("docker.io")).toEqual({ username: "ann", password: "secret" });
  expect(await ask("quay.io")).toBeUndefined();
});

test("a helper is asked for its host; one without a login leaves it to the file", async () => {
  await writeFile(
    join(folder, "docker-credential-test"),
    `#!/bin/sh\nread host\n[ "$1 $host" = "get ghcr.io" ] || exit 1\necho '{"ServerURL":"ghcr.io","Username":"<token>","Secret":"t0ken"}'\n`,
    { mode: 0o755 },
  );
  await write({ auths: { "ghcr.io": {}, "quay.io": { auth } }, credsStore: "test" });
  expect(await ask("ghcr.io")).toEqual({ identityToken: "t0ken" });
  expect(await ask("quay.io")).toEqual({ username: "ann", password: "secret" });
  await write({ credHelpers: { "ghcr.io": "not-installed" } });
  expect(await ask("ghcr.io")).toBeUndefined();
});

const helpers: [string, string, string | undefined][] = [
  ["that has no login", "#!/bin/sh\necho credentials not found in native keychain\nexit 1\n", undefined],
  ["that fails", "#!/bin/sh\necho pass is not initialized\nexit 1\n", "docker-credential-test"],
  ["that answers with no JSON", "#!/bin/sh\necho secret\n", "docker-credential-test"],
];

test.each(helpers)("whether a helper %s is named as failed", async (_title, program, expected) => {
  await writeFile(join(folder, "docker-credential-test"), program, { mode: 0o755 });
  await write({ credsStore: "test" });
  let failed: string | undefined;
  const source = userCredentials(folder, { PATH: `${folder}:/usr/bin:/bin` }, (helper) => (failed = helper));
  expect(await source("ghcr.io", "team/bp")).toBeUndefined();
  expect(failed).toBe(expected);
});

test("helpers get what leads to their keys, and nothing else of the user's", () => {
  const env = { PATH: "/opt/bin", GNUPGHOME: "/keys", DBUS_SESSION_BUS_ADDRESS: "unix:path=/bus", TOKEN: "secret" };
  const given = helperEnvironment(env);
  expect(given).toMatchObject({ HOME: homedir(), GNUPGHOME: "/keys", DBUS_SESSION_BUS_ADDRESS: "unix:path=/bus" });
  expect(given["PATH"]).toContain("/opt/bin");
  expect(given).not.toHaveProperty("TOKEN");
  expect(given).not.toHaveProperty("XDG_RUNTIME_DIR");
});

test("the host's helper wins, and a name that leads elsewhere is none", () => {
  expect(helperOf({ credsStore: "a", credHelpers: { "ghcr.io": "b" } }, "ghcr.io")).toBe("docker-credential-b");
  expect(helperOf({ credsStore: "../../x" }, "ghcr.io")).toBeUndefined();
});

test("a broken file is refused, without its content", async () => {
  await writeFile(join(folder, "config.json"), "{ secret");
  await expect(ask("ghcr.io")).rejects.toThrow(/config\.json is no valid JSON$/);
  await write({ auths: { "ghcr.io": { auth: "c2VjcmV0" } } });
  await expect(ask("ghcr.io")).rejects.toThrow(/cannot be used: the field "auth" of "ghcr.io" is not user:password/);
});
