// Events of kubelet about failed probes, in its words and in ours.
import { expect, test } from "vitest";
import type { Reader } from "../../kube/cache/reader.ts";
import { listProbeFailures } from "./probe-failures.ts";
import type { PodObject } from "./slim-pod.ts";

const pod = { metadata: { name: "p", namespace: "dev", uid: "u" } } as PodObject;

function list(...events: { message: string; lastTimestamp?: string }[]): unknown {
  const read = { byIndex: () => events.map((event) => ({ metadata: {}, ...event })) } as unknown as Reader;
  return listProbeFailures(read, pod);
}

test.each<[string, string, string]>([
  [
    "Startup probe failed: dial tcp 10.1.0.9:8080: connect: connection refused",
    "Startup",
    "port 8080: connection refused",
  ],
  ["Startup probe failed: dial tcp 10.1.0.9:8080: i/o timeout", "Startup", "port 8080: i/o timeout"],
  [
    "Liveness probe failed: HTTP probe failed with statuscode: 500",
    "Liveness",
    "HTTP probe failed with statuscode: 500",
  ],
  [
    'Readiness probe failed: Get "http://10.1.0.9:8080/ok": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    "Readiness",
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
  ],
  [
    'Liveness probe failed: Get "http://10.1.0.9:8080/": dial tcp 10.1.0.9:8080: connect: connection refused',
    "Liveness",
    "port 8080: connection refused",
  ],
])("%s", (message, probe, why) => expect(list({ message, lastTimestamp: "t" })).toEqual([{ probe, why, at: "t" }]));

test("they come in the order of their times, and other messages are none", () => {
  const at = (lastTimestamp: string) => ({ message: `Liveness probe failed: ${lastTimestamp}`, lastTimestamp });
  expect(list(at("2"), { message: "Liveness probe errored: x" }, at("1"))).toMatchObject([{ at: "1" }, { at: "2" }]);
});
