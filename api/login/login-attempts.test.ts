// Bounds of logins: how many failures are taken, whom they count for, when they are forgotten, and who is never locked out.
import { expect, test } from "vitest";
import { type ClientAddress, createLoginAttempts, type LoginAttempts } from "./login-attempts.ts";

const direct = { peer: "192.0.2.1", forwarded: undefined };
const behind = (forwarded: string) => ({ peer: "192.0.2.9", forwarded });
let tried = 0;
const fail = (attempts: LoginAttempts, address: ClientAddress): Promise<unknown> =>
  attempts.review({ address, credential: `wrong-${(tried += 1)}` }, () => Promise.resolve(undefined));
const failTimes = async (count: number, attempts: LoginAttempts, addressOf: (index: number) => ClientAddress) => {
  for (let index = 0; index < count; index += 1) await fail(attempts, addressOf(index));
};
const logIn = (attempts: LoginAttempts, address: ClientAddress, credential = "good"): Promise<unknown> =>
  attempts.review({ address, credential }, () => Promise.resolve("ann"));

test("an address waits after 30 failures, until a minute after the first", async () => {
  let time = 0;
  const attempts = createLoginAttempts(() => time);
  await failTimes(29, attempts, () => direct);
  time = 20_000;
  expect(await fail(attempts, direct)).toBeUndefined();
  expect(await fail(attempts, direct)).toEqual({ waitSeconds: 40 });
  expect(await logIn(attempts, { peer: "192.0.2.2", forwarded: undefined })).toBe("ann");
  time = 60_000;
  expect(await fail(attempts, direct)).toBeUndefined();
});

test("a client behind a proxy does not lock out the others behind it", async () => {
  const attempts = createLoginAttempts(() => 0);
  await failTimes(30, attempts, () => behind("198.51.100.1"));
  expect(await fail(attempts, behind("198.51.100.1"))).toEqual({ waitSeconds: 60 });
  expect(await fail(attempts, behind("198.51.100.2"))).toBeUndefined();
});

test("one that invents a new address each time waits after 600", async () => {
  const attempts = createLoginAttempts(() => 0);
  await failTimes(600, attempts, (index) => behind(`198.51.100.${index}`));
  expect(await logIn(attempts, behind("203.0.113.1"))).toEqual({ waitSeconds: 60 });
});

test("an attacker from many addresses locks out nobody who logged in within a day", async () => {
  let time = 0;
  const attempts = createLoginAttempts(() => time);
  await logIn(attempts, behind("203.0.113.1"));
  time = 60_000;
  await failTimes(600, attempts, (index) => behind(`198.51.100.${index % 20}`));
  expect(await logIn(attempts, behind("203.0.113.2"), "good")).toBe("ann"); // the same credential
  expect(await logIn(attempts, behind("203.0.113.1"), "another")).toBe("ann"); // the same address
  expect(await logIn(attempts, behind("203.0.113.3"), "another still")).toEqual({ waitSeconds: 60 });
  time = 26 * 60 * 60_000;
  await failTimes(600, attempts, (index) => behind(`198.51.100.${index % 20}`));
  expect(await logIn(attempts, behind("203.0.113.1"), "good")).toEqual({ waitSeconds: 60 });
});

test("a known address has a bound of its own, and a refused credential is known no longer", async () => {
  const attempts = createLoginAttempts(() => 0);
  await logIn(attempts, direct);
  await attempts.review({ address: direct, credential: "good" }, () => Promise.resolve(undefined)); // revoked
  await failTimes(29, attempts, () => direct);
  expect(await logIn(attempts, direct)).toEqual({ waitSeconds: 60 });
});

test("reviews under way count, so that a burst costs at most 100; one that throws counts no failure", async () => {
  const attempts = createLoginAttempts(() => 0);
  const answers: (() => void)[] = [];
  const burst = Array.from({ length: 150 }, (_, index) =>
    attempts.review(
      { address: direct, credential: `burst-${index}` },
      () => new Promise<undefined>((_resolve, reject) => answers.push(() => reject(new Error("503")))),
    ),
  );
  const settled = Promise.allSettled(burst);
  expect(answers).toHaveLength(100);
  for (const answer of answers) answer();
  expect((await settled).filter(({ status }) => status === "fulfilled")).toHaveLength(50);
  expect(await logIn(attempts, direct)).toBe("ann");
});

test("a credential makes eight addresses known, so that invented ones do not lift the bound of the proxy", async () => {
  const attempts = createLoginAttempts(() => 0);
  for (let index = 0; index < 20; index += 1) await logIn(attempts, behind(`198.51.100.${index}`));
  await failTimes(600, attempts, (index) => behind(`203.0.113.${index}`));
  expect(await fail(attempts, behind("198.51.100.7"))).toBeUndefined();
  expect(await fail(attempts, behind("198.51.100.8"))).toEqual({ waitSeconds: 60 });
  expect(await logIn(attempts, behind("198.51.100.19"))).toBe("ann");
});
