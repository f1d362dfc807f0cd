// Names, plans and segments: what is another's, or not for this org.
import { expect } from "vitest";
import { to } from "../permissions/test-env.ts";
import { eventually } from "../../eventually.ts";
import { cfRefuses, inForce, made, notInForce, type ObjectToMake, type RuleRow } from "./world.ts";

const SYSTEM = "cupola-system";

export const placeRows: readonly RuleRow[] = [
  {
    rule: "names of orgs, of spaces in an org, of apps and service instances in a space are unique",
    async shows(world) {
      const { env, mine } = world;
      const of = (kind: string, namespace: string, name: string, spec: object): ObjectToMake => ({
        kind,
        namespace,
        name,
        spec,
      });
      await made(world, of("App", mine.spaceNamespace, "first-app", { name: "twin" }));
      await inForce(world, of("App", mine.spaceNamespace, "first-app", {}));
      await made(world, of("ServiceInstance", mine.spaceNamespace, "first-db", { name: "twin" }));
      await inForce(world, of("ServiceInstance", mine.spaceNamespace, "first-db", {}));
      const space = { space: to(mine.space) };
      await eventually(() =>
        cfRefuses(
          world,
          "space_developer",
          ["POST", "/v3/apps", { name: "TWIN", relationships: space }],
          /already exists/,
        ),
      );
      const instance = { type: "user-provided", name: "twin", relationships: space };
      await eventually(() =>
        cfRefuses(world, "space_developer", ["POST", "/v3/service_instances", instance], /name is taken/),
      );
      const other = { name: "one", relationships: { organization: to(mine.org) } };
      await cfRefuses(world, "organization_manager", ["POST", "/v3/spaces", other], /unique per organization/);
      await cfRefuses(world, "admin", ["POST", "/v3/organizations", { name: "MINE" }], /already exists/);
      for (const twin of [
        of("App", mine.spaceNamespace, "second-app", { name: "Twin" }),
        of("ServiceInstance", mine.spaceNamespace, "second-db", { name: "twin" }),
        of("Space", mine.orgNamespace, "two", { name: "ONE" }),
      ])
        await notInForce(world, "admin", twin, "NameTaken");
      await env.kubernetes.post("/apis/cupola.dev/v1alpha1/orgs", {
        apiVersion: "cupola.dev/v1alpha1",
        kind: "Org",
        metadata: { name: "other-mine" },
        spec: { name: "Mine" },
      });
      await eventually(async () => {
        const { body } = await env.kubernetes.get("/apis/cupola.dev/v1alpha1/orgs/other-mine");
        expect(body.status?.conditions?.[0]?.reason).toBe("NameTaken");
      });
    },
  },
  {
    rule: "a service plan is used only where it is visible and available",
    async shows(world) {
      const { mine } = world;
      const offering = { name: "hidden-db", brokerRef: { name: "nobody" }, catalogID: "hidden-db-id" };
      await made(world, { kind: "ServiceOffering", namespace: SYSTEM, name: "hidden-db", spec: offering });
      const plan = { name: "hidden", offeringRef: { name: "hidden-db" }, catalogID: "hidden-id" };
      const { metadata } = await made(world, { kind: "ServicePlan", namespace: SYSTEM, name: "hidden", spec: plan });
      const wanted = {
        kind: "ServiceInstance",
        namespace: mine.spaceNamespace,
        name: "of-hidden",
        spec: { type: "managed", planRef: { namespace: SYSTEM, name: "hidden" } },
      };
      await notInForce(world, "space_developer", wanted, "PlanMissing");
      const relationships = { space: to(mine.space), service_plan: to(metadata.uid) };
      await cfRefuses(
        world,
        "space_developer",
        ["POST", "/v3/service_instances", { type: "managed", name: "x", relationships }],
        /Invalid service plan/,
      );
    },
  },
  {
    rule: "a space has an isolation segment that its org may use",
    async shows(world) {
      const { env, mine } = world;
      const segment = await env.make("/v3/isolation_segments", { name: "far" });
      await cfRefuses(
        world,
        "admin",
        ["PATCH", `/v3/spaces/${mine.space}/relationships/isolation_segment`, to(segment.guid)],
        /been entitled to the organization/,
      );
      const space = { kind: "Space", namespace: mine.orgNamespace, name: "far-space" };
      await notInForce(world, "admin", { ...space, spec: { isolationSegment: "far" } }, "SegmentNotAllowed");
    },
  },
];
