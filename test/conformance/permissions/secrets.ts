// No app gets the value of a Secret that is not its own, and a namespace that kubectl deletes is gone in the end, however full.
import { beforeAll, describe, expect, test } from "vitest";
import { clusterNamespace, secretCopyName } from "../../../crds/work/names.ts";
import type { Answer, Json } from "../kubernetes/api.ts";
import { base, makeOrgAndSpace, PLATFORM_TOKEN, to, type OrgAndSpace, type GetTestEnv } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

const core = (namespace: string, plural: string): string => `/api/v1/namespaces/${namespace}/${plural}`;
const object = (kind: string, name: string, spec: Json, labels: Json = {}): Json => ({
  apiVersion: "cupola.dev/v1alpha1",
  kind,
  metadata: { name, labels },
  spec,
});
const VALUE = "correct-horse-battery";
const encoded = Buffer.from(VALUE).toString("base64");

interface Ready {
  status: string;
  reason: string;
}

export function secretTests(get: GetTestEnv): void {
  describe("secrets", () => {
    let home: OrgAndSpace;
    let inSpace: string;
    let secrets: string;

    beforeAll(async () => {
      const testEnv = get();
      home = await makeOrgAndSpace(testEnv, "vault");
      inSpace = `${base}/namespaces/${home.spaceNamespace}`;
      secrets = core(home.spaceNamespace, "secrets");
      const auths = Buffer.from(JSON.stringify({ auths: { "registry.example": { auth: VALUE } } })).toString("base64");
      const made: Json[] = [
        {
          metadata: { name: "registry" },
          type: "kubernetes.io/dockerconfigjson",
          data: { ".dockerconfigjson": auths },
        },
        {
          metadata: { name: "broker", labels: { "cupola.dev/managed-by": "service-broker" } },
          data: { password: encoded },
        },
        // Its name is what the app `posing` would call its own.
        { metadata: { name: "posing-env" }, data: { password: encoded } },
      ];
      for (const secret of made)
        expect((await testEnv.kubernetes.post(secrets, { apiVersion: "v1", kind: "Secret", ...secret })).status).toBe(
          201,
        );
      await testEnv.make("/v3/apps", {
        name: "victim",
        environment_variables: { PASSWORD: VALUE },
        relationships: { space: to(home.space) },
      });
    }, 120_000);

    async function readyOf(app: string): Promise<Ready | undefined> {
      const { body } = await get().kubernetes.get(`${inSpace}/apps/${app}`);
      return body.status?.conditions?.find((condition: Json) => condition.type === "Ready");
    }

    /** A started app of the developer's, with one variable out of that Secret. */
    async function start(name: string, secret: string, key: string, labels: Json = {}): Promise<Answer> {
      const droplet = await get()
        .at("space_developer")
        .post(
          `${inSpace}/droplets`,
          object("Droplet", name, {
            appRef: { name },
            kind: "docker",
            image: "example.com/x",
            processTypes: { web: "run" },
          }),
        );
      expect([201, 409]).toContain(droplet.status);
      return get()
        .at("space_developer")
        .post(
          `${inSpace}/apps`,
          object(
            "App",
            name,
            {
              state: "Started",
              droplet: { name },
              env: [{ name: "STOLEN", valueFrom: { secretKeyRef: { name: secret, key } } }],
            },
            labels,
          ),
        );
    }

    /** Secrets of the space that hold the value, by name. */
    async function holders(): Promise<string[]> {
      const { items } = (await get().kubernetes.get(secrets)).body;
      return items
        .filter((secret: Json) => JSON.stringify(secret.data ?? {}).includes(encoded))
        .map((secret: Json) => secret.metadata.name)
        .sort();
    }

    test(
      "an app that names a registry's, a broker's or another app's Secret never gets its value",
      { timeout: 60_000 },
      async () => {
        const before = await holders();
        const victim = (await get().kubernetes.get(`${inSpace}/apps/victim`)).body;
        // Ages are in whole seconds, and the older object keeps a GUID.
        await eventually(() =>
          expect(Date.now() - Date.parse(victim.metadata.creationTimestamp)).toBeGreaterThan(2000),
        );
        const rows: [string, string, string, Json?][] = [
          ["reader", "registry", ".dockerconfigjson"],
          ["caller", "broker", "password"],
          ["peeper", "victim-env", "PASSWORD"],
          ["posing", "posing-env", "password"],
          // The GUID of another app, claimed at creation, opens nothing: that app keeps it.
          ["mimic", "victim-env", "PASSWORD", { "cupola.dev/guid": victim.metadata.labels["cupola.dev/guid"] }],
        ];
        for (const row of rows) expect([row[0], (await start(...row)).status]).toEqual([row[0], 201]);
        for (const [app] of rows)
          await eventually(async () => expect([app, (await readyOf(app))?.reason]).toEqual([app, "SecretNotAllowed"]));
        const { items } = (await get().kubernetes.get(`${inSpace}/revisions`)).body;
        expect(items.filter((revision: Json) => rows.some(([app]) => revision.spec.appRef.name === app))).toEqual([]);
        expect(await holders()).toEqual(before);
        // Nor do the doors for reading show it.
        for (const [app] of rows) {
          const guid = (await get().kubernetes.get(`${inSpace}/apps/${app}`)).body.metadata.uid;
          expect(JSON.stringify((await get().cf("space_developer", "GET", `/v3/apps/${guid}/env`)).json)).not.toContain(
            VALUE,
          );
          // Setting a variable writes into no Secret that is not the app's.
          const set = (): Promise<{ status: number }> =>
            get().cf("space_developer", "PATCH", `/v3/apps/${guid}/environment_variables`, {
              var: { password: "changed" },
            });
          await eventually(async () =>
            expect([app, (await set()).status]).toEqual([app, app === "posing" ? 422 : 200]),
          );
        }
        expect(await holders()).toEqual(before);
      },
    );

    test("the platform itself writes Secrets in its own namespaces only, whatever its role would let it", async () => {
      const platform = get().kubernetes.as({ token: PLATFORM_TOKEN });
      const namespaces = "/api/v1/namespaces";
      const secret = (name: string): Json => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
      expect([201, 409]).toContain(
        (await get().kubernetes.post(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "others" } }))
          .status,
      );
      expect((await get().kubernetes.post(`${namespaces}/others/secrets`, secret("theirs"))).status).toBe(201);
      const tries = (namespace: string, name: string): Promise<Answer>[] => [
        platform.post(`${namespaces}/${namespace}/secrets?dryRun=All`, secret("new")),
        platform.patch("merge", `${namespaces}/${namespace}/secrets/${name}?dryRun=All`, { stringData: { a: "b" } }),
        platform.delete(`${namespaces}/${namespace}/secrets/${name}?dryRun=All`),
      ];
      for (const answer of await Promise.all(tries("others", "theirs")))
        expect([answer.status, answer.body.message]).toEqual([
          403,
          expect.stringContaining("the platform writes Secrets in its own namespaces only"),
        ]);
      for (const namespace of [home.spaceNamespace, home.orgNamespace, "cupola-system"]) {
        expect([201, 409]).toContain(
          (await get().kubernetes.post(`${namespaces}/${namespace}/secrets`, secret("theirs"))).status,
        );
        expect([namespace, (await Promise.all(tries(namespace, "theirs"))).map(({ status }) => status)]).toEqual([
          namespace,
          [201, 200, 200],
        ]);
      }
      // Everybody else is none of this policy's business.
      expect((await get().kubernetes.delete(`${namespaces}/others/secrets/theirs`)).status).toBe(200);
    });

    test("for the agent of a pull cluster the platform makes copies, and changes and deletes no Secret there", async () => {
      const platform = get().kubernetes.as({ token: PLATFORM_TOKEN });
      const secrets = `/api/v1/namespaces/${clusterNamespace("west")}/secrets`;
      const secret = (name: string): Json => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
      const copy = secretCopyName({ namespace: "acme-dev", name: "shop-env" });
      const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: clusterNamespace("west") } };
      expect([201, 409]).toContain((await get().kubernetes.post("/api/v1/namespaces", namespace)).status);
      expect((await platform.post(secrets, secret(copy))).status).toBe(201);
      const refused = await Promise.all([
        platform.post(secrets, secret("new")),
        platform.patch("merge", `${secrets}/${copy}`, { stringData: { a: "b" } }),
        platform.delete(`${secrets}/${copy}`),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([403, 403, 403]);
    });

    test("the label that allows it needs rights on Secrets, which no CF role has", async () => {
      const allow = { metadata: { labels: { "cupola.dev/env": "allowed" } } };
      for (const person of ["space_developer", "space_manager", "space_supporter", "organization_manager"] as const) {
        for (const type of ["merge", "apply"] as const) {
          const path = `${secrets}/broker${type === "apply" ? "?fieldManager=me" : ""}`;
          expect([
            person,
            (
              await get()
                .at(person)
                .patch(
                  type,
                  path,
                  type === "apply"
                    ? { apiVersion: "v1", kind: "Secret", ...allow, metadata: { name: "broker", ...allow.metadata } }
                    : allow,
                )
            ).status,
          ]).toEqual([person, 403]);
        }
        expect([
          person,
          (
            await get()
              .at(person)
              .post(secrets, {
                apiVersion: "v1",
                kind: "Secret",
                metadata: { name: "own", labels: allow.metadata.labels },
              })
          ).status,
        ]).toEqual([person, 403]);
        expect([person, (await get().at(person).get(`${secrets}/broker`)).status]).toEqual([person, 403]);
      }
      expect((await readyOf("caller"))?.reason).toBe("SecretNotAllowed");
      expect((await get().kubernetes.patch("merge", `${secrets}/broker`, allow)).status).toBe(200);
      // With an operator's consent the app goes on: by itself ten seconds later, at once when it is looked at again.
      expect(
        (
          await get()
            .at("space_developer")
            .patch("merge", `${inSpace}/apps/caller`, { spec: { restart: "again" } })
        ).status,
      ).toBe(200);
      await eventually(async () => expect((await readyOf("caller"))?.reason).not.toBe("SecretNotAllowed"));
    });
  });

  describe("the end of a namespace", () => {
    test(
      "kubectl delete namespace of a full space, and of a full org, ends; both are there again, empty",
      { timeout: 150_000 },
      async () => {
        const testEnv = get();
        const home = await makeOrgAndSpace(testEnv, "ending");
        const inSpace = `${base}/namespaces/${home.spaceNamespace}`;
        await fill(get, home, inSpace);
        await endsAnew(get, home.spaceNamespace);
        await eventually(async () =>
          expect(
            (await testEnv.kubernetes.get(`${base}/namespaces/${home.orgNamespace}/spaces/one`)).body.status.namespace,
          ).toBe(home.spaceNamespace),
        );
        expect((await testEnv.kubernetes.get(`${inSpace}/apps`)).body.items).toEqual([]);
        await eventually(async () =>
          expect(
            (await testEnv.cf("admin", "POST", "/v3/apps", { name: "shop", relationships: { space: to(home.space) } }))
              .status,
          ).toBe(201),
        );
        await fill(get, home, inSpace);
        const space = (await testEnv.kubernetes.get(`/api/v1/namespaces/${home.spaceNamespace}`)).body.metadata.uid;
        await endsAnew(get, home.orgNamespace);
        await eventually(async () =>
          expect((await testEnv.kubernetes.get(`${base}/namespaces/${home.orgNamespace}/spaces`)).body.items).toEqual(
            [],
          ),
        );
        await eventually(
          async () =>
            expect(
              (await testEnv.kubernetes.get(`/api/v1/namespaces/${home.spaceNamespace}`)).body.metadata?.uid,
            ).not.toBe(space),
          60_000,
        );
        // The org is whole: it can be worked in, and deleted.
        await eventually(async () =>
          expect(
            (
              await testEnv.cf("admin", "POST", "/v3/spaces", {
                name: "two",
                relationships: { organization: to(home.org) },
              })
            ).status,
          ).toBe(201),
        );
        expect((await testEnv.cf("admin", "DELETE", `/v3/organizations/${home.org}`)).status).toBe(202);
        await eventually(
          async () => expect((await testEnv.kubernetes.get(`${base}/orgs/${home.orgNamespace}`)).status).toBe(404),
          60_000,
        );
      },
    );
  });
}

/** An object of each kind in a space: an app that should run, with its variables, droplet, package, route. */
async function fill(get: GetTestEnv, home: OrgAndSpace, inSpace: string): Promise<void> {
  const testEnv = get();
  const apply = (plural: string, body: Json): Promise<Answer> =>
    testEnv.kubernetes.patch(
      "apply",
      `${inSpace}/${plural}/${body.metadata.name}?fieldManager=person&force=true`,
      body,
    );
  const bodies: [string, Json][] = [
    [
      "droplets",
      object("Droplet", "full", {
        appRef: { name: "full" },
        kind: "docker",
        image: "example.com/x",
        processTypes: { web: "run" },
      }),
    ],
    ["apps", object("App", "full", { state: "Started", droplet: { name: "full" } })],
    ["packages", object("Package", "full", { appRef: { name: "full" }, type: "docker", image: "example.com/x" })],
    ["builds", object("Build", "full", { appRef: { name: "full" }, packageRef: { name: "full" } })],
    [
      "routes",
      object("Route", "full", {
        host: home.orgNamespace,
        domainRef: { name: "apps.example" },
        destinations: [{ app: "full" }],
      }),
    ],
  ];
  for (const [plural, body] of bodies)
    await eventually(async () => {
      const answer = await apply(plural, body);
      expect(answer.status, answer.text).toBeLessThan(300);
    });
  const workloads = inSpace.replace("cupola.dev", "workloads.cupola.dev");
  await eventually(async () => expect((await testEnv.kubernetes.get(`${workloads}/lrps`)).body.items).toHaveLength(1));
  const app = await eventually(async () => {
    const { resources } = (await testEnv.cf("admin", "GET", `/v3/apps?names=full&space_guids=${home.space}`)).json;
    expect(resources).toHaveLength(1);
    return resources[0];
  });
  await testEnv.make(`/v3/apps/${app.guid}/environment_variables`, { var: { A: "1" } }, "PATCH");
}

/** The namespace goes, and another of its name comes. */
async function endsAnew(get: GetTestEnv, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${name}`;
  const { uid } = (await get().kubernetes.get(path)).body.metadata;
  expect((await get().kubernetes.delete(path)).status).toBe(200);
  await eventually(async () => {
    const { metadata, status } = (await get().kubernetes.get(path)).body;
    expect(metadata?.uid, JSON.stringify(status)).toBeDefined();
    expect(metadata?.uid, JSON.stringify(status)).not.toBe(uid);
  }, 60_000);
}
