// A real kube-apiserver with kinds of the suites' names that take any fields, so that no validation of Pods comes before the policies.
import type { JudgingConstraint } from "../../../../crds/policy-template/evaluate.ts";
import { toConstraintPolicies } from "../../../../crds/policy-template/policy-objects.ts";
import type { KubeObject } from "../../../../kube/api/object.ts";
import { resourcePath, type ResourceRef } from "../../../../kube/api/resource-ref.ts";
import { eventually } from "../../../eventually.ts";
import { startControlPlane } from "../../../cluster/control-plane.ts";
import { type Api, connect } from "../../kubernetes/api.ts";
import { expectDone, PoliciesInForce, toSeen, type Seen, type Write } from "../policy-world.ts";
import type { Suite } from "./read-suites.ts";

export interface SuiteWorld {
  /** Replaces the constraint, and waits until the API server applies it. */
  enforce(constraint: JudgingConstraint): Promise<void>;
  judge(write: Write): Promise<Seen>;
  stop(): Promise<void>;
}

const GROUP = "suite.cupola.dev";
/** Objects are created in one namespace, and updated in another, where those of equal names are stored. */
const [NEW, STORED] = ["default", "stored"];

const refOf = (kind: string): ResourceRef => ({
  group: GROUP,
  version: "v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

/** Starts it, with the old objects of all updates. */
export async function startSuiteWorld(suites: readonly Suite[]): Promise<SuiteWorld> {
  const server = await startControlPlane({ controllers: false });
  const { api, close } = connect(server);
  const inForce = new PoliciesInForce(api);
  const writes = suites.flatMap(({ tests }) => tests.flatMap(({ cases }) => cases.map(({ write }) => write)));
  await expectDone(api.post("/api/v1/namespaces", { metadata: { name: STORED } }));
  for (const kind of new Set(writes.map(({ object }) => object.kind))) await installKind(api, refOf(kind));
  return {
    enforce: (constraint) => inForce.replace(toSuitePolicies(constraint)),
    judge: async ({ object, oldObject }) => {
      const ref = refOf(object.kind);
      if (!oldObject)
        return toSeen(
          await api.post(`${resourcePath(ref, { namespace: NEW })}?dryRun=All`, toSuiteObject(object, NEW)),
        );
      return toSeen(await update(api, toSuiteObject(object, STORED), toSuiteObject(oldObject, STORED)));
    },
    stop: async () => {
      await close();
      await server.stop();
    },
  };
}

function toSuiteObject(object: KubeObject, namespace: string): KubeObject {
  const metadata = { ...object.metadata, namespace };
  return { ...object, apiVersion: `${GROUP}/v1`, metadata };
}

async function update(api: Api, object: KubeObject, old: KubeObject) {
  const path = resourcePath(refOf(object.kind), { namespace: STORED, name: object.metadata.name });
  const found = await api.get(path);
  const { body } = found.status === 200 ? found : await expectDone(api.post(path.slice(0, path.lastIndexOf("/")), old));
  const { resourceVersion } = (body as KubeObject).metadata;
  return api.put(`${path}?dryRun=All`, { ...object, metadata: { ...object.metadata, resourceVersion } });
}

/** The policies as they are compiled, for the kinds of the suites. */
function toSuitePolicies(constraint: JudgingConstraint): KubeObject[] {
  const resources = constraint.template.subjects.map((kind) => refOf(kind).plural);
  const rule = { apiGroups: [GROUP], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources };
  return toConstraintPolicies(constraint.template, constraint.constraint, new Date()).map((object) =>
    object.kind === "ValidatingAdmissionPolicy"
      ? { ...object, spec: { ...(object["spec"] as object), matchConstraints: { resourceRules: [rule] } } }
      : object,
  );
}

async function installKind(api: Api, ref: ResourceRef): Promise<void> {
  await expectDone(
    api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${ref.plural}.${GROUP}` },
      spec: {
        group: GROUP,
        names: { kind: ref.kind, plural: ref.plural },
        scope: "Namespaced",
        versions: [
          {
            name: ref.version,
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
      },
    }),
  );
  await eventually(() => expectDone(api.get(resourcePath(ref))), 60_000);
}
