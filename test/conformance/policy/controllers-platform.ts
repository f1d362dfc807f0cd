// A cluster with our kinds, a space with an app, the controllers of spaces and of policy, and an operator who applies templates and constraints.
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { createControllers, policyControllers } from "../../../controllers/controllers.ts";
import { ConstraintRuns } from "../../../controllers/policy-template/run-constraints.ts";
import { App } from "../../../crds/app/app.ts";
import { anApp } from "../../../crds/testing/objects.ts";
import { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from "../../../kube/api/builtin.ts";
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
import { makeSpace } from "../controllers/test-env.ts";
import { connect, type Api, type Endpoint } from "../kubernetes/api.ts";
import { PolicyOperator } from "./operator.ts";
import { toSeen, type Seen } from "./policy-world.ts";

export interface PolicyServer extends Endpoint {
  restartControllers?(): Promise<void>;
  stop(): Promise<void>;
}

const log = pino({ level: process.env["TEST_LOG"] ?? "silent" });

export class PolicyPlatform extends PolicyOperator {
  readonly api: Api;
  /** Namespace of the space acme/dev. */
  namespace = "";
  /** Writes of the controllers, as `METHOD path code`. */
  readonly writes: string[] = [];
  readonly #own: KubeClient;
  readonly #endpoint: PolicyServer;
  readonly #closeApi: () => Promise<void>;
  #stopRunning: (() => Promise<void>) | undefined;

  constructor(endpoint: PolicyServer) {
    const { url: server, ca, adminToken: token } = endpoint;
    const connection = { server, ca, auth: { kind: "token", token } } as const;
    super(createClient({ ...connection, fieldManager: "operator" }));
    this.#endpoint = endpoint;
    ({ api: this.api, close: this.#closeApi } = connect(endpoint));
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
    const membership = { isMember: () => true, onChange: () => () => undefined };
    const gate = startStartGate({ policies: live, informers, membership });
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

  /** Waits until the controllers wrote nothing for a second, shows the writes and forgets them. */
  async untilQuiet(check: (writes: readonly string[]) => void = () => undefined): Promise<void> {
    for (let seen = -1; seen !== this.writes.length; await delay(1_000)) seen = this.writes.length;
    check(this.writes);
    this.writes.length = 0;
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
