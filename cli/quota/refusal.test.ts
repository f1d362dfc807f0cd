// The step after a refusal by a quota: sizes that fit.
import { describe, expect, test } from "vitest";
import { describeQuota, findQuotaRefusal, type QuotaRefusal } from "./refusal.ts";
import type { Quota, Usage } from "./usage.ts";

test.each<[string, QuotaRefusal | undefined]>([
  ["memory quota_exceeded", { place: "org", limit: "memory" }],
  ["memory space_quota_exceeded", { place: "space", limit: "memory" }],
  ["memory instance_memory_limit_exceeded", { place: "org", limit: "instanceMemory" }],
  ["memory space_instance_memory_limit_exceeded", { place: "space", limit: "instanceMemory" }],
  ["memory_in_mb exceeds organization memory quota", { place: "org", limit: "memory" }],
  ["memory_in_mb exceeds space instance memory quota", { place: "space", limit: "instanceMemory" }],
  ["app_instance_limit app_instance_limit_exceeded", { place: "org", limit: "instances" }],
  ["app_instance_limit space_app_instance_limit_exceeded", { place: "space", limit: "instances" }],
  ["Routes quota exceeded for space 'dev'.", undefined],
])("%s", (message, expected) => expect(findQuotaRefusal(message)).toEqual(expected));

const usage = { memory_in_mb: 768, started_instances: 3 } as Usage;
const apps = { total_memory_in_mb: 1024, per_process_memory_in_mb: null, total_instances: 5 };
const held = { instances: 0, memoryMB: 0 };
const FREE = /^delete or scale down/;

describe("the quota and what fits", () => {
  test.each<[QuotaRefusal["limit"], number, object, typeof held, string, RegExp]>([
    ["memory", 1, {}, held, "768M used and 256M left of 1024M of memory", /^cup push shop -m 256M$/],
    ["memory", 3, {}, held, "768M used and 256M left of 1024M of memory", /^cup push shop -m 85M$/],
    ["memory", 3, {}, { instances: 3, memoryMB: 64 }, "768M used and 256M left of 1024M of memory", /-m 149M$/],
    ["memory", 1, { total_memory_in_mb: 512 }, held, "768M used and 0M left of 512M of memory", FREE],
    ["memory", 1, { per_process_memory_in_mb: 128 }, held, "768M used and 256M left of 1024M of memory", /-m 128M$/],
    ["instanceMemory", 1, { per_process_memory_in_mb: 128 }, held, "at most 128M for an instance", /-m 128M$/],
    ["instances", 9, {}, held, "3 used and 2 left of 5 instances", /^cup push shop -i 2$/],
    ["instances", 9, {}, { instances: 2, memoryMB: 64 }, "3 used and 2 left of 5 instances", /-i 4$/],
    ["instances", 9, { total_instances: 3 }, held, "3 used and 0 left of 3 instances", FREE],
  ])("%s, %i instances, %j", (...row) => {
    const [limit, instances, more, own, said, next] = row;
    const quota = { name: "small", apps: { ...apps, ...more } } as Quota;
    const wanted = { command: "cup push shop", instances, held: own };
    const advice = describeQuota({ place: "space", limit }, wanted, { quota, usage });
    expect(advice?.quota).toBe(`space quota small: ${said}`);
    expect(advice?.next).toMatch(next);
  });

  test("a limit that is gone meanwhile", () => {
    const quota = { name: "small", apps: { ...apps, total_memory_in_mb: null } } as Quota;
    const wanted = { command: "cup push shop", instances: 1, held };
    expect(describeQuota({ place: "org", limit: "memory" }, wanted, { quota, usage })).toBeUndefined();
  });
});
