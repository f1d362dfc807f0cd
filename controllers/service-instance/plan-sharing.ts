// Readers of a shared service instance, and its condition Shared. Pure.
import { SHARING_PROBLEMS, type SharingProblem } from "../../crds/service-instance/sharing.ts";
import { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { Draft } from "../../kube/client/client.ts";
import type { ReadyDraft } from "../../kube/controller/controller.ts";
import { listSubjects, planRoleGrant, type RoleBindingObject } from "../shared/role-bindings.ts";

/** A space that the instance is to be shared with. */
export interface SharedPlace {
  namespace: string;
  problem: SharingProblem | "noSpace" | "notMade" | undefined;
  /** RoleBindings in its namespace. */
  bindings: readonly RoleBindingObject[];
}

const PROBLEMS: Record<NonNullable<SharedPlace["problem"]>, string> = {
  ...SHARING_PROBLEMS,
  noSpace: "no space has that namespace",
  notMade: "the service broker has not made it yet",
};

/** `shared` is undefined for an instance that never was. */
export function planSharedReaders(
  instance: ServiceInstance,
  places: readonly SharedPlace[],
): { children: Draft[]; shared: ReadyDraft | undefined } {
  const { name, namespace = "", uid = "" } = instance.metadata;
  const open = places.filter(({ problem }) => problem === undefined);
  const children = planRoleGrant({
    name: `cupola-service-instance-${name}-read`,
    unique: `read/${uid}`,
    namespace,
    rules: [
      {
        apiGroups: [ServiceInstance.group],
        resources: [ServiceInstance.plural],
        resourceNames: [name],
        verbs: ["get"],
      },
    ],
    subjects: listSubjects(open.flatMap(({ bindings }) => bindings)),
  });
  return { children, shared: planCondition(instance, places) };
}

function planCondition({ status }: ServiceInstance, places: readonly SharedPlace[]): ReadyDraft | undefined {
  if (places.length === 0) {
    const wasShared = status?.conditions?.some(({ type }) => type === "Shared");
    return wasShared ? { status: "True", reason: "NotShared", message: "no other space has it" } : undefined;
  }
  const problems = places.flatMap(({ namespace, problem }) => (problem ? [{ namespace, why: PROBLEMS[problem] }] : []));
  if (problems.length === 0) return { status: "True", reason: "Shared", message: "members of the spaces see it" };
  const byReason = Map.groupBy(problems, ({ why }) => why);
  const parts = [...byReason].map(([why, of]) => `${of.map(({ namespace }) => namespace).join(", ")}: ${why}`);
  const isFailure = places.some(({ problem }) => problem !== undefined && problem !== "notMade");
  return {
    status: "False",
    reason: "NotShareable",
    message: `not shared with ${parts.join("; ")}`,
    ...(isFailure && { isFailure: true }),
  };
}
