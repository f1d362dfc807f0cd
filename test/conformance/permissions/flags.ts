// Feature flags: CF's errors at the CF API, the same verdict by kubectl, admins exempt where CF exempts them.
import { beforeAll, describe, expect, test } from "vitest";
import { FLAG_NAMES, FEATURE_FLAGS } from "../../../crds/feature-flag/flags.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { fault, createFixtures, object, type SuspensionFixtures } from "./suspension.ts";
import { base, giveRole, to, type TestUser, type GetTestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

export function flagTests(get: GetTestEnv): void {
  describe("feature flags", () => {
    let fixtures: SuspensionFixtures;
    beforeAll(async () => {
      fixtures = await createFixtures(get, "flagged");
    }, 120_000);

    const path = (name: string): string => `/v3/feature_flags/${name}`;
    const set = (name: string, body: Json): Promise<Json> => get().make(path(name), body, "PATCH");

    test("all of CF's, with CF's defaults; only an admin sets them", async () => {
      const { json } = await get().cf("nobody", "GET", "/v3/feature_flags");
      expect(json.resources.map(({ name }: Json) => name)).toEqual(FLAG_NAMES);
      for (const one of json.resources)
        expect(Object.keys(one)).toEqual(["name", "enabled", "updated_at", "custom_error_message", "links"]);
      const expected = FLAG_NAMES.map((name) => [name, FEATURE_FLAGS[name].enabled]);
      expect(json.resources.map(({ name, enabled }: Json) => [name, enabled])).toEqual(expected);
      expect((await get().cf("nobody", "GET", path("app_scaling"))).json).toMatchObject({
        updated_at: null,
        custom_error_message: null,
      });
      expect(fault(await get().cf("nobody", "GET", path("warp_drive")))).toEqual([
        404,
        "CF-ResourceNotFound",
        "Feature flag not found",
      ]);
      expect(fault(await get().cf("organization_manager", "PATCH", path("app_scaling"), { enabled: false }))[0]).toBe(
        403,
      );
      expect(
        (
          await get()
            .at("organization_manager")
            .patch("merge", `${base}/namespaces/cupola-system/featureflags/app-scaling?dryRun=All`, {
              spec: { enabled: false },
            })
        ).status,
      ).toBe(403);
      expect(fault(await get().cf("admin", "PATCH", path("app_scaling"), { enabled: "no" }))[0]).toBe(422);
      expect(
        fault(await get().cf("admin", "PATCH", path("app_scaling"), { custom_error_message: "x".repeat(251) }))[0],
      ).toBe(422);
    });

    interface Row {
      flag: string;
      allowed: TestUser;
      cf?: () => [method: string, path: string, body?: unknown];
      kubectl?: () => [type: "post" | "merge" | "delete", path: string, body?: Json];
      /** Binds admins, too. */
      admins?: true;
    }
    const inSpace = (): string => `${base}/namespaces/${fixtures.spaceNamespace}`;
    let turn = 0;
    const fresh = (): string => `n${++turn}`;
    const space = (): object => ({ relationships: { space: to(fixtures.space) } });
    const worker = (sizes: Json): Json =>
      object("Process", "shop.worker", { appRef: { name: "shop" }, type: "worker", ...sizes });
    const rows: Row[] = [
      {
        flag: "app_scaling",
        allowed: "space_developer",
        cf: () => ["POST", `/v3/apps/${fixtures.app}/processes/web/actions/scale`, { instances: 2 + ++turn }],
        kubectl: () => ["merge", `${inSpace()}/processes/shop.web`, { spec: { instances: 2 + ++turn } }],
      },
      {
        flag: "app_scaling",
        allowed: "space_supporter",
        cf: () => ["POST", `/v3/apps/${fixtures.app}/processes/web/actions/scale`, { memory_in_mb: 100 + ++turn }],
        kubectl: () => ["merge", `${inSpace()}/processes/shop.web/scale`, { spec: { replicas: 2 + ++turn } }],
      },
      // A Scale of none has no field for it.
      {
        flag: "app_scaling",
        allowed: "space_supporter",
        kubectl: () => ["merge", `${inSpace()}/processes/shop.web/scale`, { spec: { replicas: 0 } }],
      },
      // Without the process it could be made anew, of another size: it is neither deleted nor left to the garbage collector.
      { flag: "app_scaling", allowed: "space_developer", kubectl: () => ["delete", `${inSpace()}/processes/shop.web`] },
      {
        flag: "app_scaling",
        allowed: "space_developer",
        kubectl: () => [
          "merge",
          `${inSpace()}/processes/shop.web`,
          { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "gone" }] } },
        ],
      },
      // Nor does an app grow by a process of another type.
      {
        flag: "app_scaling",
        allowed: "space_developer",
        kubectl: () => ["post", `${inSpace()}/processes`, worker({ instances: 200, memoryMB: 65536 })],
      },
      {
        flag: "app_scaling",
        allowed: "space_supporter",
        kubectl: () => ["post", `${inSpace()}/processes`, worker({ cpu: "100m" })],
      },
      {
        flag: "route_creation",
        allowed: "space_developer",
        cf: () => [
          "POST",
          "/v3/routes",
          { host: fresh(), relationships: { space: to(fixtures.space), domain: to(fixtures.domain) } },
        ],
        kubectl: () => [
          "post",
          `${inSpace()}/routes`,
          object("Route", "new", { host: "new", domainRef: { name: "apps.example" } }),
        ],
      },
      {
        flag: "private_domain_creation",
        allowed: "organization_manager",
        cf: () => [
          "POST",
          "/v3/domains",
          { name: `${fresh()}.flags.example`, relationships: { organization: to(fixtures.org) } },
        ],
        kubectl: () => [
          "post",
          `${base}/namespaces/${fixtures.orgNamespace}/domains`,
          object("Domain", "new", { name: "new.flags.example" }),
        ],
      },
      {
        flag: "diego_docker",
        allowed: "space_developer",
        admins: true,
        cf: () => ["POST", "/v3/apps", { name: fresh(), lifecycle: { type: "docker", data: {} }, ...space() }],
        kubectl: () => ["post", `${inSpace()}/apps`, object("App", "new", { lifecycle: { type: "docker" } })],
      },
      {
        flag: "diego_docker",
        allowed: "space_developer",
        admins: true,
        kubectl: () => [
          "post",
          `${inSpace()}/droplets`,
          object("Droplet", "new", { appRef: { name: "shop" }, kind: "docker", image: "example.com/x" }),
        ],
      },
      // Any image may say that it is of Cloud Native Buildpacks.
      {
        flag: "diego_docker",
        allowed: "space_developer",
        admins: true,
        kubectl: () => [
          "post",
          `${inSpace()}/droplets`,
          object("Droplet", "new", { appRef: { name: "shop" }, kind: "cnb", image: "example.com/x" }),
        ],
      },
      {
        flag: "diego_cnb",
        allowed: "space_developer",
        admins: true,
        cf: () => [
          "POST",
          "/v3/apps",
          { name: fresh(), lifecycle: { type: "cnb", data: { buildpacks: ["https://example.com/bp"] } }, ...space() },
        ],
        kubectl: () => ["post", `${inSpace()}/apps`, object("App", "new", { lifecycle: { type: "cnb" } })],
      },
      {
        flag: "app_bits_upload",
        allowed: "space_developer",
        kubectl: () => [
          "merge",
          `${inSpace()}/packages/PACKAGE`,
          { spec: { content: { digest: `sha256:${"0".repeat(64)}`, size: 1 } } },
        ],
      },
      {
        flag: "app_bits_upload",
        allowed: "space_developer",
        cf: () => [
          "POST",
          "/v3/resource_matches",
          { resources: [{ checksum: { value: "a".repeat(40) }, size_in_bytes: 1 }] },
        ],
      },
      {
        flag: "env_var_visibility",
        allowed: "space_developer",
        admins: true,
        cf: () => ["GET", `/v3/apps/${fixtures.app}/env`],
      },
      {
        flag: "space_developer_env_var_visibility",
        allowed: "space_developer",
        cf: () => ["GET", `/v3/apps/${fixtures.app}/environment_variables`],
      },
      {
        flag: "set_roles_by_username",
        allowed: "organization_manager",
        cf: () => [
          "POST",
          "/v3/roles",
          {
            type: "organization_user",
            relationships: { user: { data: { username: fresh() } }, organization: to(fixtures.org) },
          },
        ],
      },
    ];

    async function tryKubectl({ kubectl }: Row, person: TestUser): Promise<Answer | undefined> {
      if (!kubectl) return undefined;
      const [type, found, body] = kubectl();
      const { items } = (await get().kubernetes.get(`${inSpace()}/packages`)).body;
      const target = `${found.replace("PACKAGE", items[0].metadata.name)}?dryRun=All`;
      if (type === "delete") return get().at(person).delete(target);
      return type === "post" ? get().at(person).post(target, body) : get().at(person).patch(type, target, body);
    }

    test.each(rows.map((row, at) => [`${row.flag} (${at + 1})`, row] as const))("%s", async (_name, row) => {
      const statuses = async (person: TestUser): Promise<(number | undefined)[]> => [
        row.cf && (await get().cf(person, ...row.cf())).status,
        (await tryKubectl(row, person))?.status,
      ];
      const pass = (status: number | undefined): boolean => status === undefined || status < 300;
      await set(row.flag, { enabled: true });
      await eventually(async () => expect((await statuses(row.allowed)).every(pass)).toBe(true));
      await set(row.flag, { enabled: false });
      await eventually(async () =>
        expect((await statuses(row.allowed)).filter((status) => status !== undefined && status !== 403)).toEqual([]),
      );
      if (row.cf)
        expect(fault(await get().cf(row.allowed, ...row.cf()))).toEqual([
          403,
          "CF-FeatureDisabled",
          `Feature Disabled: ${row.flag}`,
        ]);
      if (row.kubectl)
        expect((await tryKubectl(row, row.allowed))?.body.message).toContain(`Feature Disabled: ${row.flag}`);
      expect((await statuses("admin")).every(pass), "an admin").toBe(row.admins !== true);
      await set(row.flag, { custom_error_message: "ask Ada" });
      await eventually(async () => {
        if (row.cf) expect(fault(await get().cf(row.allowed, ...row.cf()))[2]).toBe("Feature Disabled: ask Ada");
        if (row.kubectl)
          expect((await tryKubectl(row, row.allowed))?.body.message).toContain("Feature Disabled: ask Ada");
      });
      await set(row.flag, { enabled: true, custom_error_message: null });
      await eventually(async () => expect((await statuses(row.allowed)).every(pass)).toBe(true));
    });

    test("with app_scaling off an app can be deleted with its processes, and a new app may choose its size", async () => {
      const processes = (): Promise<Answer> => get().kubernetes.get(`${inSpace()}/processes/gone.web`);
      await get().make("/v3/apps", { name: "gone", ...space() });
      await eventually(async () => expect((await processes()).body.metadata?.ownerReferences).toHaveLength(1));
      await set("app_scaling", { enabled: false });
      await eventually(async () =>
        expect((await get().at("space_developer").delete(`${inSpace()}/processes/gone.web?dryRun=All`)).status).toBe(
          403,
        ),
      );
      expect((await get().at("space_developer").delete(`${inSpace()}/apps/gone`)).status).toBe(200);
      // A real garbage collector looks for kinds that are new every half minute.
      await eventually(async () => expect((await processes()).status).toBe(404), 60_000);
      const sized = { ...object("Process", "sized.web", { appRef: { name: "sized" }, memoryMB: 64 }) };
      expect((await get().at("space_developer").post(`${inSpace()}/processes?dryRun=All`, sized)).status).toBe(201);
      await set("app_scaling", { enabled: true });
    }, 90_000);

    test("a push that scales nothing passes while app_scaling is off, with the size that a new app likes", async () => {
      const { spaceNamespace } = fixtures;
      const tried = async (sizes: Json): Promise<number> =>
        (await get().at("space_developer").post(`${inSpace()}/processes?dryRun=All`, worker(sizes))).status;
      const droplet = object("Droplet", "pushed", {
        appRef: { name: "pushed" },
        kind: "docker",
        image: "example.com/pushed",
        processTypes: { web: "run", worker: "work" },
      });
      const { uid } = (await get().kubernetes.post(`${inSpace()}/droplets`, droplet)).body.metadata;
      await set("app_scaling", { enabled: false });
      await eventually(async () => expect(await tried({ instances: 1 })).toBe(403));
      for (const sizes of [{ memoryMB: 1025 }, { diskMB: 1023 }, { logRateLimitBytesPerSecond: -1 }])
        expect([sizes, await tried(sizes)]).toEqual([sizes, 403]);
      for (const sizes of [
        {},
        { command: "work" },
        { instances: 0, memoryMB: 1024, diskMB: 1024, logRateLimitBytesPerSecond: 1048576 },
      ])
        expect([sizes, await tried(sizes)]).toEqual([sizes, 201]);
      const manifest =
        "applications: [{ name: pushed, processes: [{ type: web, instances: 2, memory: 64M }, { type: clock, command: tick }] }]";
      expect(
        (await get().cf("space_developer", "POST", `/v3/spaces/${fixtures.space}/actions/apply_manifest`, manifest))
          .status,
      ).toBe(202);
      const app = (await get().cf("admin", "GET", `/v3/apps?names=pushed&space_guids=${fixtures.space}`)).json
        .resources[0].guid;
      await eventually(async () =>
        expect(
          (await get().cf("space_developer", "PATCH", `/v3/apps/${app}/relationships/current_droplet`, to(uid))).status,
        ).toBe(200),
      );
      const { items } = (await get().kubernetes.get(`${base}/namespaces/${spaceNamespace}/processes`)).body;
      const sizes = items
        .filter(({ spec }: Json) => spec.appRef.name === "pushed")
        .map(({ spec }: Json) => [spec.type, spec.instances, spec.memoryMB])
        .sort();
      expect(sizes).toEqual([
        ["clock", undefined, 1024],
        ["web", 2, 64],
        ["worker", undefined, 1024],
      ]);
      await set("app_scaling", { enabled: true });
    });

    test("with diego_docker off no image is built, even where neither app nor build names the lifecycle", async () => {
      const made = async (plural: string, body: Json): Promise<void> =>
        expect((await get().at("space_developer").post(`${inSpace()}/${plural}`, body)).status).toBe(201);
      const build = (name: string): Json =>
        object("Build", name, { appRef: { name: "shop" }, packageRef: { name: "image" } });
      const stateOf = async (name: string): Promise<Json> =>
        (await get().kubernetes.get(`${inSpace()}/builds/${name}`)).body.status;
      await set("diego_docker", { enabled: false });
      await made(
        "packages",
        object("Package", "image", { appRef: { name: "shop" }, type: "docker", image: "example.com/x" }),
      );
      await made("builds", build("off"));
      await eventually(async () =>
        expect(await stateOf("off")).toMatchObject({
          state: "Failed",
          error: { message: "Feature Disabled: diego_docker" },
        }),
      );
      expect((await get().kubernetes.get(`${inSpace()}/droplets/off`)).status).toBe(404);
      await set("diego_docker", { enabled: true });
      await eventually(async () => {
        const name = fresh();
        await made("builds", build(name));
        await eventually(async () => expect((await stateOf(name))?.state).toMatch(/^Staged|Failed$/));
        expect((await stateOf(name)).state).toBe("Staged");
      });
    });

    test("a stopped docker app does not start while diego_docker is off", async () => {
      const docker = object("App", "image", { lifecycle: { type: "docker" }, droplet: { name: "image" } });
      expect((await get().at("space_developer").post(`${inSpace()}/apps`, docker)).status).toBe(201);
      const start = (): Promise<Answer> =>
        get()
          .at("space_developer")
          .patch("merge", `${inSpace()}/apps/image?dryRun=All`, { spec: { state: "Started", restart: "now" } });
      expect((await start()).status).toBe(200);
      await set("diego_docker", { enabled: false });
      await eventually(async () => expect((await start()).body.message).toContain("Feature Disabled: diego_docker"));
      expect(
        (
          await get()
            .at("space_developer")
            .patch("merge", `${inSpace()}/apps/image?dryRun=All`, { metadata: { labels: { a: "b" } } })
        ).status,
      ).toBe(200);
      await set("diego_docker", { enabled: true });
    });

    test("user_org_creation: any authenticated user creates orgs, and manages them", async () => {
      expect((await get().cf("nobody", "POST", "/v3/organizations", { name: "mine" })).status).toBe(403);
      await set("user_org_creation", { enabled: true });
      const newOrg = (spec: Json, annotations: Json = {}): Json => ({
        ...object("Org", "by-hand", spec),
        metadata: { name: "by-hand", annotations },
      });
      const tried = (body: Json): Promise<Answer> => get().at("nobody").post(`${base}/orgs?dryRun=All`, body);
      await eventually(async () => expect((await tried(newOrg({}))).status).toBe(201));
      // A quota and a suspension are still not theirs to give, nor somebody else's name.
      expect((await tried(newOrg({ quotaRef: { name: "default" } }))).status).toBe(403);
      expect((await tried(newOrg({ suspended: true }))).status).toBe(403);
      expect((await tried(newOrg({}, { "cupola.dev/created-by": "admin" }))).status).toBe(403);
      expect((await tried(newOrg({}, { "cupola.dev/created-by": "nobody" }))).status).toBe(201);
      const made = await eventually(async () => {
        const answer = await get().cf("nobody", "POST", "/v3/organizations", { name: "mine" });
        expect(answer.status).toBe(201);
        return answer.json;
      });
      // The 201 waits for the right to manage; the plain membership may be seen a moment later.
      await eventually(async () => {
        const { resources } = (await get().cf("nobody", "GET", `/v3/roles?organization_guids=${made.guid}`)).json;
        expect(resources.map(({ type, relationships }: Json) => [type, relationships.user.data.guid]).sort()).toEqual([
          ["organization_manager", "nobody"],
          ["organization_user", "nobody"],
        ]);
      });
      expect(
        (
          await get().cf("nobody", "POST", "/v3/spaces", {
            name: "first",
            relationships: { organization: to(made.guid) },
          })
        ).status,
      ).toBe(201);
      await set("user_org_creation", { enabled: false });
      await eventually(async () => expect((await tried(newOrg({}))).status).toBe(403));
      await giveRole(get(), { role: "organization_user", user: "guest", scope: { organization: to(made.guid) } });
      await get().cf("admin", "DELETE", `/v3/organizations/${made.guid}`);
    });
  });
}
