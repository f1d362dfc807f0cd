// Replicas of the platform as processes of their own on a real kube-apiserver, and a constraint of operator policy that each of them judges by itself.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { App } from "../../../crds/app/app.ts";
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { CONSTRAINTS_GROUP, GROUP, SYSTEM_NAMESPACE, WORKLOADS_GROUP } from "../../../crds/groups.ts";
import { guidOf } from "../../../crds/guid.ts";
import type { Constraint } from "../../../crds/policy-template/constraint.ts";
import { Replica } from "../../../crds/replica/replica.ts";
import { systemObject } from "../../../crds/settings-object.ts";
import { Task } from "../../../crds/task/task.ts";
import { ClusterRole, ClusterRoleBinding } from "../../../kube/api/builtin.ts";
import type { Condition } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { applyObjects, installManifests } from "../../../platform/install.ts";
import { createReplicas, type Replicas } from "../../chaos/replicas.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { makeSpace } from "../controllers/test-env.ts";
import { PolicyOperator, refOf } from "./operator.ts";
import { Witness } from "./witness.ts";

/** Members of a replica's group that does not answer count for so long, by the timing of test/chaos/replica-process.ts. */
export const LEASE_MS = 10_000;

const RBAC = "rbac.authorization.k8s.io";
const ACCOUNT = `system:serviceaccount:${SYSTEM_NAMESPACE}:replica`;
const apply = { fieldManager: "operator", force: true };

/** While it is frozen, no app of the space may change or start. A rule that reads tasks, so that no ValidatingAdmissionPolicy holds it. */
const FROZEN = {
  kind: "Frozen",
  title: "Frozen",
  subjects: ["App"],
  reads: [{ as: "tasks", kind: "Task", scope: "space" }],
  parameters: { schema: { type: "object", required: ["frozen"], properties: { frozen: { type: "boolean" } } } },
  rules: [{ expression: "!variables.params.frozen || refs.tasks.size() < 0", message: "nothing changes now" }],
};
export const SENTENCE = "Frozen: nothing changes now (policy freeze)";
const FREEZE = { kind: "Frozen", name: "freeze" };

type Parts = Pick<ReplicasWorld, "client" | "replicas" | "namespace"> & { app: string; token: string };

export class ReplicasWorld extends PolicyOperator {
  readonly replicas: Replicas;
  readonly witness: Witness;
  /** Namespace of the space acme/dev. */
  readonly namespace: string;
  /** Writes of the constraint's status. */
  statusWrites = 0;
  /** Writes of the replicas' own objects, by which they report. */
  replicaWrites = 0;
  readonly #disposables: AsyncDisposableStack;

  private constructor(parts: Parts, disposables: AsyncDisposableStack) {
    super(parts.client);
    this.replicas = parts.replicas;
    this.namespace = parts.namespace;
    this.#disposables = disposables;
    this.witness = new Witness({
      urls: parts.replicas.urls,
      app: parts.app,
      token: parts.token,
      sentence: SENTENCE,
      claim: async () => {
        const constraint = await this.client.find(refOf(FREEZE.kind), { name: FREEZE.name });
        return constraint?.spec.parameters?.["frozen"] === true && isEnforced(constraint)
          ? `${constraint.metadata.uid}/${constraint.metadata.generation}`
          : undefined;
      },
    });
  }

  /** Starts as many replicas, and leaves room for one more. */
  static async start(count: number): Promise<ReplicasWorld> {
    const disposables = new AsyncDisposableStack();
    try {
      const world = new ReplicasWorld(await startParts(count, disposables), disposables);
      await world.#begin();
      return world;
    } catch (error) {
      await disposables.disposeAsync();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#disposables.disposeAsync();
  }

  /** Puts the rule in force, or ends it; resolves when that is stored. */
  freeze(frozen: boolean): Promise<unknown> {
    return this.constrain({ parameters: { frozen } }, FREEZE);
  }

  untilFrozen(): Promise<Constraint> {
    return this.untilEnforced(FREEZE);
  }

  /** The rule is not in force, and all processes know that. */
  async thaw(): Promise<void> {
    await this.freeze(false);
    await this.untilFrozen();
  }

  /** There is no such rule, and all processes know that. */
  async forget(): Promise<void> {
    await this.release(FREEZE);
    await eventually(async () => {
      const { items } = await this.client.list(Replica, { namespace: SYSTEM_NAMESPACE });
      const applied = items.flatMap(({ status }) => status?.policies?.applied ?? []);
      if (applied.length > 0) throw new Error(`still applied: ${applied.join(", ")}`);
    });
  }

  /** The Enforced condition, once it is about the present spec. */
  async enforced(): Promise<Condition | undefined> {
    const { metadata, status } = await this.constraint(FREEZE);
    const conditions = (status?.conditions ?? []) as Condition[];
    return conditions.find((one) => one.type === "Enforced" && one.observedGeneration === metadata.generation);
  }

  async #begin(): Promise<void> {
    await this.installTemplate(FROZEN);
    await this.thaw();
    this.#disposables.defer(() => this.witness.stop());
    this.witness.start();
    const informers = createInformers({ client: this.client, log: pino({ level: "silent" }) });
    this.#disposables.defer(() => informers.close());
    const handles = [
      informers.ensure(refOf(FREEZE.kind)),
      informers.ensure(Replica, { namespace: SYSTEM_NAMESPACE }),
    ] as const;
    await Promise.all(handles.map(({ store }) => store.waitSynced(30_000)));
    handles[0].store.onChange((change) => {
      if (change.type === "modified" && change.old.metadata.generation === change.object.metadata.generation)
        this.statusWrites++;
    });
    handles[1].store.onChange(({ type }) => {
      if (type === "modified") this.replicaWrites++;
    });
  }

  /** Waits until no replica has work and none wrote for two seconds. */
  async untilQuiet(): Promise<void> {
    const count = (): number => this.statusWrites + this.replicaWrites;
    for (let seen = -1; seen !== count(); await delay(2_000)) {
      await this.replicas.idle();
      seen = count();
    }
  }

  /** Kind, name and version of the constraint, of what the replicas report and of all that belongs to the space. */
  async listVersions(): Promise<string[]> {
    const { namespace, client } = this;
    const kinds = DEFINITIONS.filter(({ namespaced }) => namespaced);
    const lists = await Promise.all([
      client.list(refOf(FREEZE.kind)),
      client.list(Replica, { namespace: SYSTEM_NAMESPACE }),
      ...kinds.map((kind) => client.list(kind as ResourceRef, { namespace })),
    ]);
    return lists.flatMap(({ items }) =>
      items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`),
    );
  }

  /** The number of the replica that runs the controllers of constraints. */
  leader(): Promise<number> {
    return eventually(async () => {
      const leads = await Promise.all(this.replicas.urls.map((_, which) => this.replicas.leads(which)));
      const leader = leads.findIndex((names) => names.includes("leader-policies"));
      if (leader < 0) throw new Error("no replica leads policies");
      return leader;
    });
  }

  /** Takes the right to read tasks from all replicas, or gives it back. */
  async allowTasks(allowed: boolean): Promise<void> {
    await this.client.apply(ClusterRole, { metadata: { name: "replica" }, rules: rulesOf(allowed) }, apply);
  }
}

function isEnforced({ metadata, status }: Constraint): boolean {
  return status?.enforced === true && status.observedGeneration === metadata.generation;
}

async function startParts(count: number, disposables: AsyncDisposableStack): Promise<Parts> {
  const dir = mkdtempSync(join(tmpdir(), "cupola-policy-faults-"));
  disposables.defer(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(dir, "data"));
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${SYSTEM_NAMESPACE}`];
  const plane = await startControlPlane({ users: [{ token: "replica-token", user: ACCOUNT, groups }] });
  disposables.defer(() => plane.stop());
  const { url: server, ca, adminToken: token } = plane;
  const client = createClient({ server, ca, auth: { kind: "token", token }, fieldManager: "operator" });
  disposables.defer(() => client.close());
  await installManifests(client);
  await client.apply(ClusterRole, { metadata: { name: "replica" }, rules: rulesOf(true) }, apply);
  await client.apply(
    ClusterRoleBinding,
    {
      metadata: { name: "replica" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "replica" },
      subjects: [{ kind: "User", apiGroup: RBAC, name: ACCOUNT }],
    },
    apply,
  );
  await applyObjects(
    client,
    ["runner", "task-runner"].map((role) => systemObject(BackendClass, role, { role, default: true })),
  );
  await plane.restartControllers();
  const replicas = await createReplicas(
    count + 1,
    {
      access: { server, ca },
      token: "replica-token",
      data: join(dir, "data"),
      operations: "api,controllers,policies",
    },
    dir,
  );
  disposables.defer(() => replicas.stop());
  const numbers = Array.from({ length: count }, (_, which) => which);
  for (const which of numbers) replicas.start(which);
  await Promise.all(numbers.map((which) => replicas.untilReady(which)));
  const { namespace } = await makeSpace(client, "acme", "dev");
  const app = await client.create(App, { metadata: { namespace, name: "asked" }, spec: { state: "Stopped" } });
  return { client, replicas, namespace, app: guidOf(app), token };
}

/** All rights, with or without those on tasks. */
function rulesOf(withTasks: boolean) {
  if (withTasks) return [ALL, ALL_PATHS];
  const kinds = DEFINITIONS.filter((kind) => kind.group === GROUP && kind.kind !== Task.kind);
  const resources = [...kinds.map(({ plural }) => plural), "*/status", "*/finalizers"];
  return [{ apiGroups: [GROUP], resources, verbs: ["*"] }, { ...ALL, apiGroups: OTHER_GROUPS }, ALL_PATHS];
}

const ALL = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const ALL_PATHS = { nonResourceURLs: ["*"], verbs: ["*"] };
/** The groups that the platform asks for, without its own. */
const OTHER_GROUPS = [
  "",
  WORKLOADS_GROUP,
  CONSTRAINTS_GROUP,
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apps",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "batch",
  "coordination.k8s.io",
  "events.k8s.io",
  "networking.k8s.io",
  "policy",
  RBAC,
];
