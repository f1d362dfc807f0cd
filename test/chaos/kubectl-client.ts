// The load by kubectl: objects applied and patched straight at kube-apiserver, again until it answers.
import { App } from "../../crds/app/app.ts";
import { Droplet } from "../../crds/droplet/droplet.ts";
import { Process } from "../../crds/process/process.ts";
import { Route } from "../../crds/route/route.ts";
import { Space } from "../../crds/space/space.ts";
import { COMMAND_PATCHES } from "../../crds/cf-command-patches.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isNotFound } from "../../kube/client/errors.ts";

import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import { RetryableError, retryUntilAcknowledged } from "./retry.ts";
import type { RunScope } from "./run-scope.ts";

const KUBECTL = { fieldManager: "kubectl" };

/** A person's kubectl. Every function resolves when the API server has acknowledged. */
export function createKubectlClient(kube: KubeClient, scope: RunScope, domain: string) {
  const namespaceOf = async (space: string): Promise<string> => (await scope.space(space)).namespace;
  const apply = (ref: ResourceRef, namespace: string, name: string, spec: object): Promise<unknown> =>
    retryUntilAcknowledged(`${scope.prefix}: kubectl apply ${ref.kind} ${name}`, () =>
      kube.apply(ref, { metadata: { namespace, name }, spec }, KUBECTL),
    );
  const patch = (ref: ResourceRef, at: { namespace: string; name: string }, body: object): Promise<unknown> =>
    retryUntilAcknowledged(`${scope.prefix}: kubectl patch ${ref.kind} ${at.name}`, () =>
      kube.patch(ref, at, { type: "merge", body: body as Record<string, unknown> }, KUBECTL),
    );
  const remove = (ref: ResourceRef, at: { namespace: string; name: string }): Promise<void> =>
    retryUntilAcknowledged(`${scope.prefix}: kubectl delete ${ref.kind} ${at.name}`, async () => {
      try {
        await kube.delete(ref, at);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
  const at = async (space: string, name: string): Promise<{ namespace: string; name: string }> => ({
    namespace: await namespaceOf(space),
    name,
  });

  return {
    async space(name: string): Promise<void> {
      await apply(Space, await scope.orgNamespace(), name, {});
    },
    /** App, process and droplet as one file. */
    async app(space: string, name: string): Promise<void> {
      const namespace = await namespaceOf(space);
      await apply(Droplet, namespace, `${name}-droplet`, {
        appRef: { name },
        kind: "docker",
        lifecycleType: "docker",
        image: "example.com/image:1",
        processTypes: { web: "" },
      });
      await apply(App, namespace, name, {
        state: "Stopped",
        lifecycle: { type: "docker" },
        droplet: { name: `${name}-droplet` },
        env: [{ name: "COLOUR", value: "blue" }],
      });
      await apply(Process, namespace, `${name}.web`, { appRef: { name }, type: "web" });
    },
    /** Resolves when the app has its name in force. */
    async named(space: string, name: string): Promise<void> {
      const key = await at(space, name);
      await retryUntilAcknowledged(`${scope.prefix}: app ${name} has its name`, async () => {
        const app = await kube.get(App, key);
        if (app.status?.name === undefined) throw new RetryableError(JSON.stringify(app.status));
      });
    },
    /** An object that wants a name which another has. */
    async taken(space: string, name: string): Promise<void> {
      await apply(App, await namespaceOf(space), `${name}-too`, { name, lifecycle: { type: "docker" } });
    },
    async route(space: string, route: string, app: string): Promise<void> {
      await apply(Route, await namespaceOf(space), route, {
        host: scope.host(route),
        domainRef: { name: domain },
        destinations: [{ app }],
      });
    },
    async unmap(space: string, route: string): Promise<void> {
      await patch(Route, await at(space, route), { spec: { destinations: [] } });
    },
    async deleteRoute(space: string, route: string): Promise<void> {
      await remove(Route, await at(space, route));
    },
    async process(space: string, app: string, spec: { instances?: number; memoryMB?: number }): Promise<void> {
      await patch(Process, await at(space, `${app}.web`), { spec });
    },
    async act(space: string, app: string, verb: "start" | "stop" | "restart", value: string): Promise<void> {
      await patch(App, await at(space, app), COMMAND_PATCHES[verb].patch(value));
    },
    async rename(space: string, app: string, to: string): Promise<void> {
      await patch(App, await at(space, app), COMMAND_PATCHES.rename.patch(to));
    },
    async deleteApp(space: string, app: string): Promise<void> {
      await remove(App, await at(space, app));
    },
  };
}

export type KubectlClient = ReturnType<typeof createKubectlClient>;
