// Pushes apps by stock `cf`, and where there is none by `cup`, for journeys on a node: these prove the platform, and the cases of `cf` prove the client.
import { expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { apiAt, tokenOf, type Api, type Named, type Page } from "./api.ts";
import { cfOn, whyNoCf } from "./cf.ts";
import type { CommandResult, TestPlatform } from "./test-platform.ts";

export interface PrivateImage {
  reference: string;
  username: string;
  password: string;
}

export interface AppClient {
  /** As admin in the org `local` and its space `dev`. */
  signIn(): Promise<void>;
  /** A command that `cf` and `cup` have in the same words. @throws AssertionError with its output when it fails */
  run(...args: string[]): Promise<string>;
  pushImage(name: string, image: PrivateImage): Promise<void>;
  /** States of the instances of the web process, by their index. */
  states(name: string): Promise<string[]>;
}

const BUILD_MS = 120_000;

export function appClient(stage: TestPlatform): AppClient {
  const hasCf = whyNoCf() === undefined;
  const api = (): Api => apiAt(stage.url, tokenOf(stage, "admin"));
  const command: (...args: string[]) => Promise<CommandResult> = hasCf ? cfOn(stage) : stage.cup;
  async function run(...args: string[]): Promise<string> {
    const { code, output } = await command(...args);
    expect(code, `${args.join(" ")}\n${output}`).toBe(0);
    return output;
  }
  return {
    run,
    async signIn() {
      if (!hasCf) {
        await run("login", "--api", stage.url, "--user", "admin");
        await run("target", "--org", "local", "--space", "dev");
        return;
      }
      await run("api", stage.url);
      await run("auth", "admin");
      await run("target", "-o", "local", "-s", "dev");
    },
    async pushImage(name, { reference, username, password }) {
      if (!hasCf) return pushByAPI(api(), name, { image: reference, username, password });
      process.env["CF_DOCKER_PASSWORD"] = password;
      await run("push", name, "--docker-image", reference, "--docker-username", username, "-m", "128M");
    },
    async states(name) {
      const { resources } = await api().call<Page<Named>>("GET", `/v3/apps?names=${name}`);
      const path = `/v3/apps/${resources[0]?.guid}/processes/web/stats`;
      const stats = await api().call<{ resources: { index: number; state: string }[] }>("GET", path);
      return stats.resources.sort((a, b) => a.index - b.index).map(({ state }) => state);
    },
  };
}

/** The requests of `cf push --docker-image`: `cup` has no option for a registry's password. */
async function pushByAPI(api: Api, name: string, data: object): Promise<void> {
  const to = (guid: string): object => ({ data: { guid } });
  const space = await onlyOne(api, "/v3/spaces?names=dev");
  const app = await api.call("POST", "/v3/apps", {
    name,
    lifecycle: { type: "docker", data: {} },
    relationships: { space: to(space) },
  });
  const taken = await api.call("POST", "/v3/packages", { type: "docker", relationships: { app: to(app.guid) }, data });
  const build = await api.call("POST", "/v3/builds", { package: { guid: taken.guid } });
  const droplet = await eventually(async () => {
    const { state, droplet } = await api.call<{ state: string; droplet: { guid: string } }>(
      "GET",
      `/v3/builds/${build.guid}`,
    );
    expect(state).toBe("STAGED");
    return droplet.guid;
  }, BUILD_MS);
  await api.call("PATCH", `/v3/apps/${app.guid}/relationships/current_droplet`, to(droplet));
  await api.call("POST", `/v3/apps/${app.guid}/processes/web/actions/scale`, { memory_in_mb: 128 });
  const domain = await onlyOne(api, "/v3/domains?names=apps.localhost");
  const route = await api.call("POST", "/v3/routes", {
    host: name,
    relationships: { space: to(space), domain: to(domain) },
  });
  await api.call("POST", `/v3/routes/${route.guid}/destinations`, { destinations: [{ app: { guid: app.guid } }] });
  await api.call("POST", `/v3/apps/${app.guid}/actions/start`);
}

async function onlyOne(api: Api, path: string): Promise<string> {
  const { resources } = await api.call<Page<Named>>("GET", path);
  expect(resources, path).toHaveLength(1);
  return resources[0]?.guid ?? "";
}
