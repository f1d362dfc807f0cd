// Which replicas the API reads an app's logs from: those with telemetry of their own, and the one owner among those that follow pods.
import { describe, expect, test } from "vitest";
import type { LRP } from "../../crds/lrp/lrp.ts";
import type { TaskRun } from "../../crds/task-run/task-run.ts";
import type { Member } from "../../kube/lease/member.ts";
import { pickOwner } from "../../telemetry/source-owner.ts";
import { findLogLimit, listTelemetryAddresses } from "./replica-logs.ts";
import { REPLICA_ANNOTATIONS } from "../leases/replica-membership.ts";

function member(identity: string, operations: string, more: Record<string, string> = {}): Member {
  return {
    identity,
    leaseUid: identity,
    since: "",
    annotations: {
      [REPLICA_ANNOTATIONS.operations]: operations,
      [REPLICA_ANNOTATIONS.telemetry]: `http://${identity}`,
      ...more,
    },
  };
}

const kept = { [REPLICA_ANNOTATIONS.logs]: "kept" };

describe("addresses for logs", () => {
  const three = ["a", "b", "c"].map((identity) => member(identity, "api,logs", kept));

  test("name one owner among those who keep logs of pods", () => {
    for (const source of ["app-1", "app-2", "app-3"])
      expect(listTelemetryAddresses(three, source)).toEqual([{ url: `http://${pickOwner(source, ["a", "b", "c"])}` }]);
  });

  test("skip a replica that has not synced yet", () => {
    const owner = pickOwner("app-1", ["a", "b", "c"]);
    const others = three.filter(({ identity }) => identity !== owner);
    const young = member(owner ?? "", "api,logs");
    expect(listTelemetryAddresses([...others, young], "app-1")).toEqual(listTelemetryAddresses(others, "app-1"));
  });

  test("name every replica that has lines or stats, and no other", () => {
    const mixed = [
      member("router", "api,local-router"),
      member("runner", "process-runner", { [REPLICA_ANNOTATIONS.authority]: "PEM" }),
      member("api", "api,controllers"),
      ...three,
    ];
    expect(listTelemetryAddresses(mixed, "app-1").map(({ url }) => url)).toEqual([
      "http://router",
      "http://runner",
      `http://${pickOwner("app-1", ["a", "b", "c"])}`,
    ]);
    expect(listTelemetryAddresses(mixed)).toEqual([
      { url: "http://router" },
      { url: "http://runner", authority: "PEM" },
    ]);
  });
});

describe("the log rate limit of a container", () => {
  const limited = (limit: number): { find: () => never } => ({
    find: () => ({ spec: { logRateLimitBytesPerSecond: limit } }) as never,
  });
  const stores = { lrps: limited(10) as { find(): LRP }, taskRuns: limited(20) as { find(): TaskRun } };
  const unknown = { find: () => undefined };
  const unseen = {
    find: (): never => {
      throw new Error("not synced");
    },
  };

  test.each([
    { name: "of an instance is its LRP's", container: { lrp: "shop" }, stores, limit: 10 },
    { name: "of a task is its TaskRun's", container: { taskRun: "once" }, stores, limit: 20 },
    { name: "of a build is none", container: {}, stores, limit: -1 },
    {
      name: "is none once the TaskRun is gone",
      container: { taskRun: "once" },
      stores: { ...stores, taskRuns: unknown },
      limit: -1,
    },
    {
      name: "is none while it cannot be seen",
      container: { taskRun: "once" },
      stores: { ...stores, taskRuns: unseen },
      limit: -1,
    },
  ])("$name", ({ container, stores, limit }) => {
    expect(findLogLimit(stores, { namespace: "dev", ...container })).toBe(limit);
  });
});
