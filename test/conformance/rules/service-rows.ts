// Services: sharing, purging, keys.
import { expect } from "vitest";
import { ServiceInstance } from "../../../crds/service-instance/service-instance.ts";
import { eventually } from "../../eventually.ts";
import { dryRun } from "../permissions/test-env.ts";
import { at, kubectl, made, pathOf, refused, type ObjectToMake, type RuleRow, type RuleWorld } from "./world.ts";

const SYSTEM = "cupola-system";

const planRef = (name: string): object => ({ namespace: SYSTEM, name });
const instance = ({ mine }: RuleWorld, name: string, spec: object = {}): ObjectToMake => ({
  kind: "ServiceInstance",
  namespace: mine.spaceNamespace,
  name,
  spec: { type: "managed", planRef: planRef("nowhere"), ...spec },
});

/** As its controller would say once the broker has made it. */
async function provide({ env }: RuleWorld, { namespace, name }: ObjectToMake, broker: string): Promise<void> {
  const provided = {
    brokerRef: { name: "b", namespace: broker },
    offeringID: "o",
    planID: "p",
    planObject: "nowhere",
  };
  await env.root.patch(
    ServiceInstance,
    { namespace, name },
    { type: "merge", body: { status: { provided } } },
    { subresource: "status" },
  );
}

export const serviceRows: readonly RuleRow[] = [
  {
    rule: "a service instance is shared only with spaces where the person may change instances",
    async shows(world) {
      const { env, theirs } = world;
      await env.make("/v3/feature_flags/service_instance_sharing", { enabled: true }, "PATCH");
      const shared = instance(world, "shared", { sharedSpaces: [theirs.spaceNamespace] });
      await eventually(async () =>
        refused(await kubectl(world, "space_developer", shared), /right to update service instances there/),
      );
      expect((await kubectl(world, "admin", shared)).status).toBe(201);
      // A shared instance stays shared, whoever changes the rest.
      const retagged = await dryRun(env.at("space_developer"), pathOf(shared), { spec: { tags: ["x"] } });
      expect(retagged.status).toBe(200);
      await env.make("/v3/feature_flags/service_instance_sharing", { enabled: false }, "PATCH");
    },
  },
  {
    rule: "only admins purge service instances, and developers those of their space's own brokers",
    async shows(world) {
      const { env, mine } = world;
      const purge = { spec: { purge: true } };
      const [foreign, own] = [instance(world, "of-all"), instance(world, "of-own")];
      for (const each of [foreign, own]) await made(world, each, "space_developer");
      await provide(world, foreign, SYSTEM);
      await provide(world, own, mine.spaceNamespace);
      refused(await kubectl(world, "space_developer", instance(world, "born-purged", { purge: true })), /spec.purge/);
      refused(await dryRun(env.at("space_developer"), pathOf(foreign), purge), /serviceinstances\/purge/);
      expect((await dryRun(env.at("space_developer"), pathOf(own), purge)).status).toBe(200);
      expect((await dryRun(env.at("admin"), pathOf(foreign), purge)).status).toBe(200);
    },
  },
  {
    rule: "supporters make and delete no service keys, and nobody makes one in a space that an instance is shared with",
    async shows(world) {
      const { env, mine } = world;
      const key = (name: string, instanceRef: object): ObjectToMake => ({
        kind: "ServiceBinding",
        namespace: mine.spaceNamespace,
        name,
        spec: { type: "key", name, instanceRef },
      });
      const own = key("own", { name: "any" });
      refused(await kubectl(world, "space_supporter", own), /servicebindings\/settings/);
      await made(world, own, "space_developer");
      refused(
        await env.at("space_supporter").delete(`${at(mine.spaceNamespace, "servicebindings")}/own`),
        /servicebindings\/settings/,
      );
      refused(
        await kubectl(world, "space_developer", key("far", { name: "any", namespace: "theirs-one" })),
        /in the space of its service instance/,
      );
      expect((await env.at("space_developer").delete(pathOf(own))).status).toBe(200);
    },
  },
  {
    rule: "nobody names somebody else as the person who asks a service broker for something",
    async shows(world) {
      const { env } = world;
      const named = (name: string, by: string): ObjectToMake => ({
        ...instance(world, name),
        annotations: { "cupola.dev/asked-by": by },
      });
      await eventually(async () =>
        refused(await kubectl(world, "space_developer", named("for-admin", "admin")), /must name the person who asks/),
      );
      await made(world, named("for-me", "space_developer"), "space_developer");
      const path = pathOf(named("for-me", ""));
      const rename = (by: string): object => ({ metadata: { annotations: { "cupola.dev/asked-by": by } } });
      refused(await dryRun(env.at("space_developer"), path, rename("admin")), /must name the person who asks/);
      expect((await dryRun(env.at("admin"), path, rename("admin"))).status).toBe(200);
      // Whoever changes something else leaves the name as it is.
      expect((await dryRun(env.at("admin"), path, { spec: { tags: ["x"] } })).status).toBe(200);
    },
  },
];
