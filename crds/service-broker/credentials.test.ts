// Whose credentials a broker is sent: its own, whatever it names.
import { expect, test } from "vitest";
import {
  newCredentialsRef,
  placeOfCredentials,
  SPACE_CREDENTIALS_SECRETS,
  type CredentialsRef,
} from "./credentials.ts";

const SYSTEM = "cupola-system";

test.each<[string, CredentialsRef, ...[secret: string, key: string, isShared: boolean]]>([
  [SYSTEM, newCredentialsRef(SYSTEM, "p"), `${SYSTEM}/cupola-broker-credentials`, "p.username", true],
  ["acme-dev", { name: "mine" }, "acme-dev/mine", "username", false],
  ["acme-dev", { name: "mine", prefix: "p" }, "acme-dev/mine", "p.username", false],
  // Those of the platform's brokers are in another namespace.
  [
    "acme-dev",
    { name: "cupola-broker-credentials", prefix: "p" },
    "acme-dev/cupola-broker-credentials",
    "p.username",
    false,
  ],
])("in %s, %o are in %s as %s", (namespace, ref, ...expected) => {
  const place = placeOfCredentials(namespace, ref);
  expect([`${place.secret.namespace}/${place.secret.name}`, place.keys[0], place.isShared]).toEqual(expected);
});

test("spaces that name the same Secret and prefix have credentials of their own", () => {
  const ref = newCredentialsRef("acme-dev", "p");
  expect(SPACE_CREDENTIALS_SECRETS).toContain(ref.name);
  const places = ["acme-dev", "evil-dev"].map((namespace) => placeOfCredentials(namespace, ref));
  expect(places.map(({ secret }) => secret)).toEqual([1, 2].map(() => ({ namespace: SYSTEM, name: ref.name })));
  expect(places.map(({ keys }) => keys[1])).toEqual(["acme-dev.p.password", "evil-dev.p.password"]);
});
