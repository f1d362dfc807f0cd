// The removal of unused Secrets on a spoke, while an app begins to use one of them.
import { expect, test } from "vitest";
import { LABELS } from "../../crds/labels.ts";
import { LRP } from "../../crds/lrp/lrp.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ResourceRef } from "../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { ReconcileContext } from "../../kube/controller/controller.ts";
import { spokeCleanUpController } from "./clean-up.ts";
import { UNUSED_MS } from "./clean-up-plan.ts";

const namespace = { metadata: { name: "dev", labels: { [LABELS.hub]: "hub-1" } } } as unknown as KubeObject;
const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "one", key: "A" } } }];
const user = { metadata: { namespace: "dev", name: "shop" }, spec: { env } } as unknown as KubeObject;

/** A spoke with the Secrets `one` and `two`; `onDelete` runs after each deletion. */
class Spoke {
  readonly secrets = new Map<string, KubeObject>();
  readonly users: KubeObject[] = [];
  failing = false;
  onDelete: () => void = () => undefined;

  constructor() {
    for (const name of ["one", "two"])
      this.secrets.set(name, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: {
          namespace: "dev",
          name,
          uid: `uid-${name}`,
          resourceVersion: "1",
          labels: { [LABELS.hub]: "hub-1" },
        },
        data: { A: "YQ==" },
        immutable: true,
      } as unknown as KubeObject);
  }

  get client(): KubeClient {
    return {
      list: ({ kind }: ResourceRef) => {
        if (kind === Secret.kind) return Promise.resolve({ items: [...this.secrets.values()] });
        if (this.failing) return Promise.reject(new Error("no list"));
        return Promise.resolve({ items: kind === LRP.kind ? this.users : [] });
      },
      find: (_ref: unknown, { name }: { name: string }) => Promise.resolve(this.secrets.get(name)),
      delete: (_ref: unknown, { name }: { name: string }) => {
        this.secrets.delete(name);
        this.onDelete();
        return Promise.resolve();
      },
      create: (_ref: unknown, object: KubeObject) => {
        this.secrets.set(object.metadata.name, object);
        return Promise.resolve(object);
      },
    } as unknown as KubeClient;
  }

  /** Two looks of the agent, ten minutes after each other. */
  async cleanUp(): Promise<void> {
    const controller = spokeCleanUpController();
    for (const at of [0, UNUSED_MS])
      await controller.reconcile(namespace, {
        read: { list: () => [] },
        client: this.client,
        now: () => new Date(at),
      } as unknown as ReconcileContext);
  }
}

test("what nothing uses goes", async () => {
  const spoke = new Spoke();
  await spoke.cleanUp();
  expect([...spoke.secrets.keys()]).toEqual([]);
});

test("a Secret that an app began to use while it was deleted is there again, with its content", async () => {
  const spoke = new Spoke();
  spoke.onDelete = () => void (spoke.users.length === 0 && spoke.users.push(user));
  await spoke.cleanUp();
  expect([...spoke.secrets.values()]).toEqual([
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: "dev", name: "one", labels: { [LABELS.hub]: "hub-1" } },
      data: { A: "YQ==" },
      immutable: true,
    },
  ]);
});

test("where the agent cannot ask again, all are there again", async () => {
  const spoke = new Spoke();
  spoke.onDelete = () => void (spoke.failing = true);
  await expect(spoke.cleanUp()).rejects.toThrow("no list");
  expect([...spoke.secrets.keys()].toSorted()).toEqual(["one", "two"]);
});
