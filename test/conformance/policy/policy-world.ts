// A real kube-apiserver with our kinds and the namespaces of an org and some spaces, which judges writes by the policies of constraints, by dry run.
import { DEFINITIONS } from "../../../crds/definitions.ts";
import { evaluate, type JudgingConstraint, type Review } from "../../../crds/policy-template/evaluate.ts";
import { toConstraintPolicies } from "../../../crds/policy-template/policy-objects.ts";
import { findSubject } from "../../../crds/policy-template/subjects.ts";
import { toSentence } from "../../../crds/policy-template/verdict.ts";
import { toCustomResourceDefinition } from "../../../kube/api/crd.ts";
import type { KubeObject } from "../../../kube/api/object.ts";
import { resourcePath } from "../../../kube/api/resource-ref.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { eventually } from "../../eventually.ts";
import { type Answer, type Api, connect } from "../kubernetes/api.ts";

/** A write as people see it: refused with a sentence, or done with warnings. */
export interface Seen {
  allowed: boolean;
  /** A refusal has one; each policy tells its first denial. */
  sentences: string[];
  warnings: string[];
}

/** A write that both sides judge. */
export type Write = Pick<Review, "object" | "oldObject">;

export interface PolicyWorld {
  api: Api;
  /** The labels of each namespace. */
  namespaces: ReadonlyMap<string, Record<string, string>>;
  /** Replaces the constraints, and waits until the API server applies these. */
  enforce(constraints: readonly JudgingConstraint[], now?: Date): Promise<void>;
  /** How kube-apiserver judges a write, without carrying it out. */
  judge(write: Write): Promise<Seen>;
  stop(): Promise<void>;
}

/** Starts it. `namespaces` are made with these labels. */
export async function startPolicyWorld(namespaces: ReadonlyMap<string, Record<string, string>>): Promise<PolicyWorld> {
  const server = await startControlPlane({ controllers: false });
  const { api, close } = connect(server);
  const stop = async () => {
    await close();
    await server.stop();
  };
  try {
    await install(api, namespaces);
  } catch (error) {
    await stop();
    throw error;
  }
  const inForce = new PoliciesInForce(api);
  return {
    api,
    namespaces,
    enforce: (constraints, now = new Date()) =>
      inForce.replace(
        constraints.flatMap(({ template, constraint }) => toConstraintPolicies(template, constraint, now)),
      ),
    judge: async (write) => toSeen(await dryRun(api, write)),
    stop,
  };
}

async function install(api: Api, namespaces: PolicyWorld["namespaces"]): Promise<void> {
  const kinds = DEFINITIONS.filter(({ kind }) => findSubject(kind));
  for (const kind of kinds)
    await expectDone(
      api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", toCustomResourceDefinition(kind)),
    );
  for (const [name, labels] of namespaces)
    await expectDone(api.post("/api/v1/namespaces", { metadata: { name, labels } }));
  for (const kind of kinds) await eventually(() => expectDone(api.get(resourcePath(kind))), 60_000);
}

export async function expectDone(request: Promise<Answer>): Promise<Answer> {
  const answer = await request;
  if (answer.status >= 300) throw new Error(`${answer.status}: ${answer.text.slice(0, 2000)}`);
  return answer;
}

const pathOfPolicies = (kind: string): string =>
  `/apis/admissionregistration.k8s.io/v1/${kind === "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings"}`;

/** Policies and bindings on the server, with a last one that tells when those before it are applied: the server reads each kind in order. */
export class PoliciesInForce {
  private readonly api: Api;
  private round = 0;

  constructor(api: Api) {
    this.api = api;
  }

  async replace(wanted: readonly KubeObject[]): Promise<void> {
    const last = this.lastOf(++this.round);
    for (const kind of ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"])
      await expectDone(this.api.delete(pathOfPolicies(kind)));
    await inParallel(wanted, async (object) => this.create(object));
    for (const object of last) await this.create(object);
    await eventually(async () => {
      const { text } = await this.api.post("/api/v1/namespaces/default/configmaps?dryRun=All", {
        metadata: { name: "probe" },
      });
      if (!text.includes(`round ${this.round} is in force`)) throw new Error(`not in force: ${text}`);
    });
  }

  private async create(object: KubeObject): Promise<void> {
    const { metadata } = object;
    // Owners are for the garbage collector, which does not run here.
    const { ownerReferences: _owners, ...rest } = metadata;
    try {
      await expectDone(this.api.post(pathOfPolicies(object.kind), { ...object, metadata: rest }));
    } catch (cause) {
      throw new Error(`${object.kind} ${metadata.name} was refused: ${String(cause)}`, { cause });
    }
  }

  private lastOf(round: number): KubeObject[] {
    const metadata = { name: `round-${round}` };
    const apiVersion = "admissionregistration.k8s.io/v1";
    return [
      {
        apiVersion,
        kind: "ValidatingAdmissionPolicy",
        metadata,
        spec: {
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
            ],
          },
          matchConditions: [{ name: "the-probe", expression: "object.metadata.name == 'probe'" }],
          validations: [{ expression: "false", message: `round ${round} is in force` }],
        },
      },
      {
        apiVersion,
        kind: "ValidatingAdmissionPolicyBinding",
        metadata,
        spec: { policyName: metadata.name, validationActions: ["Deny"] },
      },
    ];
  }
}

/** At most 8 at a time. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const queue = [...items.entries()].reverse();
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next; next = queue.pop()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

function dryRun(api: Api, { object, oldObject }: Write): Promise<Answer> {
  const definition = findSubject(object.kind);
  if (!definition) throw new Error(`${object.kind} is no subject`);
  const { namespace = "", name } = object.metadata;
  return oldObject
    ? api.put(`${resourcePath(definition, { namespace, name })}?dryRun=All`, object)
    : api.post(`${resourcePath(definition, { namespace })}?dryRun=All`, object);
}

const WARNING =
  /299 - "Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*': ((?:[^"\\]|\\.)*)"/g;

/** @throws when the answer is neither a success nor a policy's refusal */
export function toSeen({ status, body, text, headers }: Answer): Seen {
  const given = Buffer.from([headers["warning"] ?? []].flat().join(", "), "latin1").toString();
  const warnings = sorted([...given.matchAll(WARNING)].map(([, message = ""]) => message.replace(/\\(.)/g, "$1")));
  if (status < 300) return { allowed: true, sentences: [], warnings };
  const causes = (body?.details?.causes ?? []) as { message?: string }[];
  const sentences = causes.flatMap(
    ({ message = "" }) =>
      /^ValidatingAdmissionPolicy '.*?' with binding '.*?' denied request: (.*)$/s.exec(message)?.[1] ?? [],
  );
  if (sentences.length === 0) throw new Error(`no policy's refusal: ${status} ${text}`);
  return { allowed: false, sentences, warnings };
}

const sorted = (lines: readonly string[]): string[] => [...new Set(lines)].sort();

/** The API server tells the fault of an expression without our words around it. */
const isFault = (message: string): boolean => /^expression '.*' resulted in error: /s.test(message);

/** How our evaluator judges it, as sentences. */
export function judgeOurselves(
  constraints: readonly JudgingConstraint[],
  { object, oldObject }: Write,
  namespaceLabels: Review["namespaceLabels"],
): Seen {
  const titles = new Map(constraints.map(({ template }) => [template.kind, template.title]));
  const { allowed, violations } = evaluate(constraints, {
    point: "write",
    operation: oldObject ? "UPDATE" : "CREATE",
    object,
    oldObject,
    namespaceLabels,
    user: { name: "admin", groups: ["system:masters", "system:authenticated"] },
  });
  const of = (wanted: string): string[] =>
    sorted(
      violations
        .filter(({ action }) => action === wanted)
        .map((one) => (isFault(one.message) ? one.message : toSentence(titles.get(one.template) ?? "", one))),
    );
  // A header takes no control characters: the API server leaves such a warning out.
  return { allowed, sentences: of("deny"), warnings: of("warn").filter((one) => !/\p{Cc}/u.test(one)) };
}
