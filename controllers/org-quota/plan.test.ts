// Which processes a quota lets run.
import { expect, test } from "vitest";
import type { AppLimits, Demand } from "../../crds/org-quota/rules.ts";
import { grantedInstances, type Grant } from "../shared/process-demand.ts";
import { planGrants, type Applicant } from "./plan.ts";

const size = (instances: number, memoryMB = 100): Demand => ({ instances, memoryMB, logRateLimitBytesPerSecond: 1 });
const applicant = (uid: string, wanted: Demand, more: Partial<Applicant> = {}): Applicant => ({
  uid,
  namespace: "dev",
  order: uid,
  wanted,
  grant: undefined,
  ...more,
});
const plan = (limits: AppLimits, applicants: Applicant[], space?: AppLimits): [string, Grant | null][] => [
  ...planGrants(applicants, {
    org: { name: "small", limits },
    spaces: new Map(space ? [["dev", { name: "tiny", limits: space }]] : []),
  }),
];
const held = (instances: string | number, text: string): unknown => ({
  ...size(Number(instances), instances === 0 ? 0 : 100),
  logRateLimitBytesPerSecond: instances === 0 ? 0 : 1,
  problem: text,
});

test("the earlier process gets what there is; the later one is told why not", () => {
  expect(plan({ totalMemoryMB: 300 }, [applicant("b", size(2)), applicant("a", size(2))])).toEqual([
    ["b", held(0, "2 x 100 MB exceed quota small of the org, which allows 300 MB of memory")],
    ["a", size(2)],
  ]);
});

test("a later, smaller process fills the gap", () => {
  const granted = plan({ totalInstances: 3 }, [
    applicant("a", size(2)),
    applicant("b", size(2)),
    applicant("c", size(1)),
  ]).filter(([, grant]) => grant?.problem === undefined);
  expect(granted.map(([uid]) => uid)).toEqual(["a", "c"]);
});

test("what was granted stays, although the quota shrank or an earlier process wants more", () => {
  const b = applicant("b", size(2), { grant: size(2) });
  expect(plan({ totalInstances: 1 }, [b])).toEqual([]);
  expect(
    plan({ totalInstances: 3 }, [applicant("a", size(2)), b]).map(([uid, grant]) => [uid, grant?.instances]),
  ).toEqual([["a", 0]]);
});

test("less is granted at once, and frees the rest for others in the same pass, written after it", () => {
  const grants = plan({ totalInstances: 3 }, [
    applicant("a", size(2)),
    applicant("b", size(1), { grant: size(3) }),
    applicant("c", size(0), { grant: size(1) }),
  ]);
  expect(grants).toEqual([
    ["b", size(1)],
    ["c", null],
    ["a", size(2)],
  ]);
});

test("more instances than fit leave the old number", () => {
  expect(plan({ totalInstances: 3 }, [applicant("a", size(5), { grant: size(2) })])).toEqual([
    ["a", { ...size(2), problem: "5 x 100 MB exceed quota small of the org, which allows 3 instances" }],
  ]);
});

test("what runs since before there was a limit goes on", () => {
  expect(plan({ totalInstances: 1 }, [applicant("a", size(2), { running: size(2) })])).toEqual([["a", size(2)]]);
});

test("the space's quota holds beside the org's, for its space only", () => {
  const elsewhere = applicant("b", size(2), { namespace: "prod" });
  const grants = new Map(plan({ totalInstances: 9 }, [applicant("a", size(2)), elsewhere], { totalInstances: 1 }));
  expect([grants.get("a")?.problem, grants.get("b")]).toEqual([
    "2 x 100 MB exceed quota tiny of the space, which allows 1 instances",
    size(2),
  ]);
});

test("tasks take their memory first", () => {
  const tasks = new Map([["dev", { instances: 0, memoryMB: 250, logRateLimitBytesPerSecond: 0 }]]);
  const quotas = { org: { name: "small", limits: { totalMemoryMB: 300 } }, spaces: new Map(), tasks };
  expect(planGrants([applicant("a", size(1))], quotas).get("a")?.problem).toMatch("300 MB of memory");
  expect(planGrants([applicant("a", size(1, 50))], quotas).get("a")).toEqual(size(1, 50));
});

test("an unchanged plan writes nothing", () => {
  const problem = "5 x 100 MB exceed quota small of the org, which allows 3 instances";
  const all = [
    applicant("a", size(5), { grant: { ...size(2), problem } }),
    applicant("b", size(1), { grant: size(1) }),
  ];
  expect(plan({ totalInstances: 3 }, all)).toEqual([]);
});

test.each<[string, Grant | undefined, Omit<Demand, "instances">, number]>([
  ["none without a grant", undefined, size(1), 0],
  ["as many as granted", size(3), size(1), 3],
  ["none of a larger size", size(3), size(1, 101), 0],
  ["none that logs more", size(3), { memoryMB: 100, logRateLimitBytesPerSecond: -1 }, 0],
])("instances to start: %s", (_what, grant, wanted, instances) =>
  expect(grantedInstances(grant, wanted)).toBe(instances),
);
