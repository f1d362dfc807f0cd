// Builds: an image at once, source by a Staging, and a failed Staging.
import { expect, test } from "vitest";
import { App } from "../../../crds/app/app.ts";
import { Build } from "../../../crds/build/build.ts";
import { Droplet } from "../../../crds/droplet/droplet.ts";
import { guidOf } from "../../../crds/guid.ts";
import { Package } from "../../../crds/package/package.ts";
import { Staging } from "../../../crds/staging/staging.ts";
import { untilReady, type ControllerFixtures } from "./test-env.ts";
import { eventually } from "../../eventually.ts";

export function buildTests(given: () => ControllerFixtures): void {
  test("builds: an image at once, source by way of a Staging", async () => {
    const { testEnv, client, namespace, home } = given();
    await client.create(App, { metadata: { namespace, name: "built" }, spec: {} });
    const digest = `sha256:${"a".repeat(64)}`;
    await client.create(Package, {
      metadata: { namespace, name: "image" },
      spec: { appRef: { name: "built" }, type: "docker", image: "example.com/x:2" },
    });
    await client.create(Build, {
      metadata: { namespace, name: "image-build" },
      spec: { appRef: { name: "built" }, packageRef: { name: "image" } },
    });
    await untilReady(client, Build, { namespace, name: "image-build" });
    expect((await client.get(Droplet, { namespace, name: "image-build" })).spec).toMatchObject({
      kind: "docker",
      image: "example.com/x:2",
      processTypes: { web: "" },
    });

    await client.create(Package, {
      metadata: { namespace, name: "bits" },
      spec: { appRef: { name: "built" }, type: "bits", content: { digest, size: 1 } },
    });
    await untilReady(client, Package, { namespace, name: "bits" }, { status: "False", reason: "ContentMissing" });
    testEnv.contents.add(`${guidOf(home.space)} ${digest}`);
    await client.patch(
      Package,
      { namespace, name: "bits" },
      { type: "merge", body: { metadata: { annotations: { look: "now" } } } },
    );
    await client.create(Build, {
      metadata: { namespace, name: "bits-build" },
      spec: { appRef: { name: "built" }, packageRef: { name: "bits" } },
    });
    const staging = await eventually(() => client.get(Staging, { namespace, name: "bits-build" }));
    expect(staging.spec).toMatchObject({
      class: "builder",
      detect: true,
      package: { type: "bits", content: { digest } },
    });
    const droplet = {
      kind: "host",
      content: { digest, size: 1 },
      root: "/droplets/x",
      processTypes: { web: "node server.js", worker: "node worker.js" },
    };
    await client.patch(
      Staging,
      staging.metadata,
      { type: "merge", body: { status: { state: "Succeeded", droplet } } },
      { subresource: "status" },
    );
    await untilReady(client, Build, { namespace, name: "bits-build" });
    await untilReady(client, Droplet, { namespace, name: "bits-build" });
    await eventually(async () => expect(await client.find(Staging, staging.metadata)).toBeUndefined());

    await client.create(Build, {
      metadata: { namespace, name: "failing" },
      spec: { appRef: { name: "built" }, packageRef: { name: "bits" } },
    });
    await eventually(() => client.get(Staging, { namespace, name: "failing" }));
    await client.patch(
      Staging,
      { namespace, name: "failing" },
      {
        type: "merge",
        body: { status: { state: "Failed", error: { code: "NoAppDetectedError", message: "no buildpack fits" } } },
      },
      { subresource: "status" },
    );
    const failed = await untilReady(
      client,
      Build,
      { namespace, name: "failing" },
      { status: "False", reason: "StagingFailed" },
    );
    expect(failed.status).toMatchObject({
      state: "Failed",
      error: { code: "NoAppDetectedError", message: "no buildpack fits" },
    });
  });
}
