// Child process: API, controllers and the embedded API server in one event loop, as on a laptop, with a probe of that loop.
import { App } from "../../../crds/app/app.ts";
import { startFuzzWorld } from "../fuzz-api/fuzz-world.ts";
import { serveParent } from "../../bench/child-process.ts";
import { startLoopProbe } from "./loop-probe.ts";

const world = await startFuzzWorld();
await world.refresh();
const probe = startLoopProbe();
serveParent(
  {
    places: async () => {
      const { replica, cluster, things } = world;
      const { json } = await replica.call("ann", "GET", "/v3/openapi.json");
      const [app] = replica.api.cache.store(App).byIndex("guid", things["apps"] ?? "");
      return { api: replica.url, cluster, things, app, openapi: json as unknown };
    },
    longest: () => probe.longest(),
  },
  async () => {
    probe.stop();
    await world.stop();
  },
);
