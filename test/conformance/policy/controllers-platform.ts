// A cluster with our kinds, a space with an app, the controllers of spaces and of policy, and an operator who applies templates and constraints.
import { pino } from "pino";
import { createControllers, policyControllers } from "../../../controllers/controllers.ts";
import { ConstraintRuns } from "../../../controllers/policy-template/run-constraints.ts";
import { App } from "../../../crds/app/app.ts";
import { constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import { anApp } from "../../../crds/testing/objects.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../../kube/api/builtin.ts";
import type { Condition } from "../../../kube/api/object.ts";
import { resourcePath, type ResourceRef } from "../../../kube/api/resource-ref.ts";
import { createInformers } from "../../../kube/cache/informers.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { createClient } from "../../../kube/client/create-client.ts";
import { runControllers } from "../../../kube/controller/run-controllers.ts";
import { requestKind } from "../../../kube/testing/request-kind.ts";
import { installManifests } from "../../../platform/install.ts";
import type { PolicyReplicas } from "../../../controllers/policy-template/constraint.ts";
import { startLivePolicies, type LivePolicies } from "../../../platform/policies/live-policies.ts";
import { startStartGate } from "../../../platform/policies/start-gate.ts";
import { CONTROLLER_SETTINGS } from "../../../platform/operations/controller-settings.ts";
import { eventually } from "../../eventually.ts";
import { makeSpace, untilReady } from "../controllers/test-env.ts";
import { connect, type Api, type Endpoint } from "../kubernetes/api.ts";
import { toSeen, type Seen } from "./policy-world.ts";

export interface PolicyServer extends Endpoint {
  restartControllers?(): Promise<void>;
  stop(): Promise<void>;
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });
const apply = { fieldManager: "operator", force: true };

/** The rules of most tests: an app needs a label. */
export const OWNED = {
  kind: "Owned",
  title: "Owner",
  subjects: ["App"],
  parameters: {
    schema: { type: "object", required: ["label"], properties: { label: { type: "string", maxLength: 63 } } },
  },
  rules: [
    {
      expression: "has(object.metadata.labels) && variables.params.label in object.metadata.labels",
      messageExpression: "'needs the label ' + variables.params.label",
    },
  ],
};

export class PolicyPlatform {
  readonly api: Api;
  readonly client: KubeClient;
  /** Namespace of the space acme/dev. */
  namespace = "";
  /** Writes of the controllers, as `METHOD path code`. */
  readonly writes: string[] = [];
  readonly #own: KubeClient;
  readonly #endpoint: PolicyServer;
  readonly #closeApi: () => Promise<void>;
  #stopRunning: (() => Promise<void>) | undefined;

  constructor(endpoint: PolicyServer) {
    this.#endpoint = endpoint;
    ({ api: this.api, close: this.#closeApi } = connect(endpoint));
    const { url: server, ca, adminToken: token } = endpoint;
    const connection = { server, ca, auth: { kind: "token", token } } as const;
    this.client = createClient({ ...connection, fieldManager: "operator" });
    this.#own = createClient({
      ...connection,
      onRequest: ({ method, path, code }) => {
        if (requestKind({ method, path }) === "write") this.writes.push(`${method} ${path.split("?")[0]} ${code}`);
      },
    });
  }

  async start(): Promise<void> {
    await installManifests(this.client);
    await this.#endpoint.restartControllers?.();
    await this.startControllers();
    ({ namespace: this.namespace } = await makeSpace(this.client, "acme", "dev"));
    await this.client.create(App, {
      metadata: { namespace: this.namespace, name: "bare" },
      spec: { state: "Stopped" },
    });
  }

  async stop(): Promise<void> {
    await this.stopControllers();
    await Promise.all([this.#own.close(), this.client.close(), this.#closeApi()]);
    await this.#endpoint.stop();
  }

  /** As platform/operations/start-controllers.ts and policies.ts start them. */
  async startControllers(): Promise<void> {
    const client = this.#own;
    const informers = createInformers({ client, log, freeze: true });
    const stopping = new AbortController();
    const ownership = CONTROLLER_SETTINGS;
    const live = startLivePolicies({ informers, log });
    const gate = startStartGate(live, informers);
    const running = runControllers({
      client,
      controllers: [
        ...createControllers({
          apiURL: "http://api.example",
          hasContent: () => Promise.resolve(false),
          startGate: gate,
        }),
        ...policyControllers,
      ],
      informers,
      ownership,
      signal: stopping.signal,
      log,
    });
    await running.synced;
    const term = { transitions: 1, isHeld: () => true };
    const runs = new ConstraintRuns({ client, informers, replicas: oneProcess(live), ownership, term, log });
    this.#stopRunning = async () => {
      stopping.abort();
      await Promise.all([running.stopped, runs.stop()]);
      await gate.close();
      await live.close();
      await informers.close();
    };
  }

  async stopControllers(): Promise<void> {
    await this.#stopRunning?.();
    this.#stopRunning = undefined;
  }

  /** How the API server answers the creation of an app, by dry run. */
  async create(labels: Record<string, string> = {}): Promise<Seen> {
    const app = anApp({ state: "Stopped" }, { metadata: { namespace: this.namespace, labels } });
    return toSeen(await this.api.post(`${resourcePath(App, { namespace: this.namespace })}?dryRun=All`, app));
  }

  applyTemplate(spec: { kind: string }): Promise<unknown> {
    return this.client.apply(PolicyTemplate, { metadata: { name: spec.kind.toLowerCase() }, spec } as never, apply);
  }

  /** Resolves when the template is in force and its kind is served. */
  async installTemplate(spec: { kind: string }): Promise<void> {
    await this.applyTemplate(spec);
    await untilReady(this.client, PolicyTemplate, { name: spec.kind.toLowerCase() });
  }

  async deleteTemplate({ kind }: { kind: string }): Promise<void> {
    await this.client.delete(PolicyTemplate, { name: kind.toLowerCase() });
  }

  constrain(spec: object, which: ConstraintName = OWNER): Promise<unknown> {
    return eventually(() => this.constrainOnce(spec, which));
  }

  /** Rejects when the API server refuses it, or does not serve its kind yet. */
  constrainOnce(spec: object, { kind, name }: ConstraintName): Promise<unknown> {
    return this.client.apply(refOf(kind), { metadata: { name }, spec } as never, apply);
  }

  constraint({ kind, name }: ConstraintName = OWNER): Promise<Constraint> {
    return this.client.get(refOf(kind), { name });
  }

  /** The constraint, once its status is about its present spec and says that it is enforced. */
  untilEnforced(which: ConstraintName = OWNER): Promise<Constraint> {
    return eventually(async () => {
      const constraint = await this.constraint(which);
      const conditions = (constraint.status?.conditions ?? []) as Condition[];
      const enforced = conditions.find(({ type }) => type === "Enforced");
      if (enforced?.status !== "True" || enforced.observedGeneration !== constraint.metadata.generation)
        throw new Error(`not enforced: ${JSON.stringify(constraint.status)}`);
      return constraint;
    });
  }

  release({ kind, name }: ConstraintName = OWNER): Promise<unknown> {
    return this.client.delete(refOf(kind), { name });
  }

  /** Names of the policies and bindings of constraints. */
  async policies(): Promise<string[]> {
    const lists = await Promise.all(
      ([ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding] as ResourceRef[]).map((ref) =>
        this.client.list(ref),
      ),
    );
    return lists
      .flatMap(({ items }) => items.map(({ metadata }) => metadata.name))
      .filter((name) => name.endsWith(".constraints.cupola.dev"));
  }
}

/** This process is the only one. */
function oneProcess(live: LivePolicies): PolicyReplicas {
  return {
    find: ({ version }) => {
      const enforced = live.report()?.applied.includes(version) ?? false;
      return Promise.resolve({ enforced, pendingReplicas: enforced ? [] : ["this"], errors: [] });
    },
    onChange: (listener) => live.onChange(listener),
  };
}

export interface ConstraintName {
  kind: string;
  name: string;
}

/** The constraint of most tests. */
export const OWNER: ConstraintName = { kind: "Owned", name: "owner" };

function refOf(kind: string): ResourceRef<Constraint> {
  return constraintKindOf({ spec: { kind, title: kind } }) as unknown as ResourceRef<Constraint>;
}
