// Connection pools of client certificates are bounded in number.
import { afterEach, expect, test } from "vitest";
import { type AgentPair, type Agents, createAgents, MAX_CERTIFICATES } from "./agents.ts";

let agents: Agents | undefined;
afterEach(() => agents?.close());

const certificate = (number: number): { cert: string; key: string } => ({
  cert: `cert-${number}`,
  key: `key-${number}`,
});
const isClosed = ({ requests, streams }: AgentPair): boolean[] => [requests.closed, streams.closed];

test("closes the least recently used pool beyond the bound, but never the pool without a certificate", () => {
  agents = createAgents({});
  const plain = agents.forCertificate();
  const pairs = Array.from(
    { length: MAX_CERTIFICATES },
    (_none, number) => agents?.forCertificate(certificate(number)) as AgentPair,
  );
  expect(pairs.flatMap(isClosed)).not.toContain(true);
  expect(agents.forCertificate(certificate(0))).toBe(pairs[0]);
  agents.forCertificate(certificate(MAX_CERTIFICATES));
  expect(
    pairs
      .map((pair, number) => [number, ...isClosed(pair)])
      .filter(([, requests, streams]) => requests === true || streams === true),
  ).toEqual([[1, true, true]]);
  expect(isClosed(plain)).toEqual([false, false]);
  expect(agents.forCertificate(certificate(1))).not.toBe(pairs[1]);
});

test("a pool belongs to one certificate and key", () => {
  agents = createAgents({});
  const pair = agents.forCertificate({ cert: "cert", key: "key" });
  expect(agents.forCertificate({ cert: "cert", key: "key" })).toBe(pair);
  for (const other of [
    { cert: "cert", key: "other" },
    { cert: "other", key: "key" },
    { cert: "certkey", key: "" },
    undefined,
  ])
    expect(agents.forCertificate(other)).not.toBe(pair);
});

test("close ends all pools", async () => {
  agents = createAgents({});
  const pairs = [agents.forCertificate(), agents.forCertificate(certificate(1)), agents.forCertificate(certificate(2))];
  await agents.close();
  expect(pairs.flatMap(({ requests, streams }) => [requests.destroyed, streams.destroyed])).not.toContain(false);
});
