// Values of variables from Secrets, and the error for a missing one.
import { expect, test } from "vitest";
import type { EnvVar } from "../../crds/schema-fields.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { resolveEnvironment } from "./resolve-environment.ts";

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "keys", namespace: "space" },
  data: { user: Buffer.from("ann").toString("base64") },
};
const client = {
  find: (_kind: unknown, { name }: { name: string }) => Promise.resolve(name === "keys" ? secret : undefined),
} as Pick<KubeClient, "find">;

const from = (name: string, key: string): EnvVar => ({ name: "USER_NAME", valueFrom: { secretKeyRef: { name, key } } });

test("values are literal or come from a key of a Secret", async () => {
  expect(
    await resolveEnvironment(client, "space", [{ name: "A", value: "1" }, { name: "B" }, from("keys", "user")]),
  ).toEqual({ A: "1", B: "", USER_NAME: "ann" });
});

test.each([
  ["a Secret that is not there", "others", "user"],
  ["a key that it does not have", "keys", "password"],
  ["a key that every object inherits", "keys", "constructor"],
])("%s is named", async (_name, name, key) => {
  await expect(resolveEnvironment(client, "space", [from(name, key)])).rejects.toThrow(
    `Variable USER_NAME needs key ${key} of Secret ${name}, which does not exist; create it`,
  );
});
