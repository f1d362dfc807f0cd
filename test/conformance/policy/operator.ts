// An operator who applies templates and constraints, and the template of most tests.
import { constraintKindOf, type Constraint } from "../../../crds/policy-template/constraint.ts";
import { PolicyTemplate } from "../../../crds/policy-template/policy-template.ts";
import type { Condition } from "../../../kube/api/object.ts";
import type { ResourceRef } from "../../../kube/api/resource-ref.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { eventually } from "../../eventually.ts";
import { untilReady } from "../controllers/test-env.ts";

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

export class PolicyOperator {
  readonly client: KubeClient;

  constructor(client: KubeClient) {
    this.client = client;
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
}

export interface ConstraintName {
  kind: string;
  name: string;
}

/** The constraint of most tests. */
export const OWNER: ConstraintName = { kind: "Owned", name: "owner" };

export function refOf(kind: string): ResourceRef<Constraint> {
  return constraintKindOf({ spec: { kind, title: kind } }) as unknown as ResourceRef<Constraint>;
}
