// An app's variables: names in App.spec.env, values in a Secret that only the platform's identity reads, after RBAC allowed apps/env.
import { createHash } from "node:crypto";
import { App } from "../../../crds/app/app.ts";
import { appSecretName, isAppSecret } from "../../../crds/app/env-secret.ts";
import { isPlatformVariable } from "../../../crds/app/vcap.ts";
import type { EnvVar } from "../../../crds/schema-fields.ts";
import { LABELS } from "../../../crds/labels.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { isAlreadyExists } from "../../../kube/client/errors.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { z } from "zod";
import { CFError } from "../../http/errors.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import { writeAllOrNone } from "../../access/rehearsal.ts";
import type { Session } from "../../access/session.ts";
import { appOwnerReferences } from "./owner-app.ts";
import { requireNotSuspended } from "../../access/suspension.ts";

/** Limit on an app's whole environment, bytes. */
const MAX_BYTES = 512 * 1024;
const SECRET_KEY = /^[-._a-zA-Z0-9]{1,200}$/;

/** The problem with a variable's name, in CF's words; undefined when it is valid. */
function nameProblem(name: string): string | undefined {
  if (name === "") return "key must be a minimum length of 1";
  if (name.length > 255) return `key '${name.slice(0, 40)}...' is too long (maximum is 255 characters)`;
  if (!isPlatformVariable(name)) return undefined;
  if (/^vcap_/i.test(name)) return "cannot start with VCAP_";
  return /^vmc/i.test(name) ? "cannot start with VMC_" : "cannot set PORT";
}

interface IssueContext {
  addIssue: (issue: { code: "custom"; message: string; params?: { whole: true } }) => void;
}

function checkVariableNames(variables: Record<string, unknown>, context: IssueContext): void {
  for (const name of Object.keys(variables)) {
    const message = nameProblem(name);
    if (message) context.addIssue({ code: "custom", message });
  }
}

function checkVariables(variables: Record<string, unknown>, context: IssueContext): void {
  checkVariableNames(variables, context);
  for (const [name, value] of Object.entries(variables)) {
    if (typeof value === "string" || value === null || nameProblem(name) !== undefined) continue;
    const message = `Non-string value in environment variable for key '${name}', value '${JSON.stringify(value)}'`;
    context.addIssue({ code: "custom", message, params: { whole: true } });
  }
}

/** Variables to set; null removes one. */
export const variablesSchema = z
  .record(z.string(), z.unknown(), "must be an object")
  .superRefine(checkVariables)
  .transform((variables) => variables as Record<string, string | null>);
/** Variables of a new app or a manifest: any JSON value, stored as text. */
export const anyVariablesSchema = z
  .record(z.string(), z.unknown())
  .superRefine(checkVariableNames)
  .transform((variables) =>
    Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, toText(value)])),
  );

function toText(value: unknown): string {
  return typeof value === "string"
    ? value
    : value === null || value === undefined
      ? ""
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
}

function secretName(app: App): string {
  return appSecretName(app.metadata.name);
}

/** The Secret with an app's values, if it exists. A Secret of that name that is not the app's is `foreign` and neither read nor changed. */
async function findSecret(session: Session, app: App): Promise<ObjectOf<typeof Secret> | "foreign" | undefined> {
  const { signal, platformClient } = session;
  const key = { namespace: app.metadata.namespace ?? "", name: secretName(app) };
  const secret = await accessSecret(() => platformClient.find(Secret, key, { signal }), signal);
  return secret && !isAppSecret(secret, app.metadata.name, session.cache.guid(App, app)) ? "foreign" : secret;
}

/** Whether the Secret must be created. @throws CFError 422 when a foreign Secret has the name */
async function isSecretMissing(session: Session, app: App): Promise<boolean> {
  const found = await findSecret(session, app);
  if (found !== "foreign") return found === undefined;
  throw new CFError(
    "UnprocessableEntity",
    `The Secret ${secretName(app)} is not this app's own, so its variables cannot be kept there. Choose another name for the app.`,
  );
}

/** A variable's key in the Secret: its name, if Secrets allow it as a key. */
function secretKey(name: string): string {
  return SECRET_KEY.test(name) ? name : `v-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

function envAccess(verb: "get" | "update", app: App) {
  return {
    verb,
    on: App,
    subresource: "env",
    namespace: app.metadata.namespace ?? "",
    name: app.metadata.name,
  } as const;
}

/** Name to value. A variable whose Secret is not the app's own reads as empty. @throws CFError 403 */
export async function readVariables(session: Session, app: App): Promise<Record<string, string>> {
  session.authorize(envAccess("get", app));
  const values = await valuesOf(session, app);
  return Object.fromEntries([...values].map(([name, value]) => [name, value ?? ""]));
}

/** Undefined for a variable whose Secret is not the app's own. Only for comparisons: a caller who may set variables need not be able to read them. */
async function valuesOf(session: Session, app: App): Promise<Map<string, string | undefined>> {
  const usesSecret = app.spec.env.some((variable) => variable.valueFrom);
  const found = usesSecret ? await findSecret(session, app) : undefined;
  const secret = found === "foreign" ? undefined : found;
  const data = new Map(Object.entries(secret?.data ?? {}));
  const valueOf = ({ value, valueFrom }: EnvVar): string | undefined => {
    const key = valueFrom?.secretKeyRef.name === secretName(app) ? valueFrom.secretKeyRef.key : undefined;
    const kept = key === undefined ? undefined : data.get(key);
    return value ?? (kept === undefined ? undefined : Buffer.from(kept, "base64").toString("utf8"));
  };
  return new Map(app.spec.env.map((variable) => [variable.name, valueOf(variable)]));
}

/** Sets and removes (null) variables; others are unchanged. Writes the values first, then the names as the caller. @throws CFError 403, 422 when too large */
export async function writeVariables(session: Session, app: App, wanted: Record<string, string | null>): Promise<App> {
  session.authorize(envAccess("update", app));
  requireNotSuspended(session, app.metadata.namespace ?? "");
  const before = await valuesOf(session, app);
  const isChange = ([name, value]: [string, string | null]): boolean =>
    value === null ? before.has(name) : before.get(name) !== value;
  const changes = Object.fromEntries(Object.entries(wanted).filter(isChange));
  if (Object.keys(changes).length === 0) return app;
  checkSize(before, changes);
  return await writeAllOrNone(session, [App], async (writer) => {
    await putSecret(writer, app, changes);
    return await writer.patchWithRetry(App, app, (current) => ({ spec: { env: nextEnv(current, changes) } }));
  });
}

function nextEnv(app: App, changes: Record<string, string | null>): EnvVar[] {
  const kept = app.spec.env.filter(({ name }) => !Object.hasOwn(changes, name));
  const set = Object.entries(changes).filter(([, value]) => value !== null);
  return [
    ...kept,
    ...set.map(([name]) => ({ name, valueFrom: { secretKeyRef: { name: secretName(app), key: secretKey(name) } } })),
  ];
}

function checkSize(before: ReadonlyMap<string, string | undefined>, changes: Record<string, string | null>): void {
  const after = new Map<string, string | null | undefined>([...before, ...Object.entries(changes)]);
  const bytes = [...after].reduce(
    (sum, [name, value]) => sum + (value === null ? 0 : Buffer.byteLength(name) + Buffer.byteLength(value ?? "")),
    0,
  );
  if (bytes > MAX_BYTES)
    throw new CFError(
      "UnprocessableEntity",
      `Environment variables of an app may have ${MAX_BYTES} bytes together; these have ${bytes}.`,
    );
}

async function putSecret(session: Session, app: App, changes: Record<string, string | null>): Promise<void> {
  const { signal, platformClient } = session;
  const key = { namespace: app.metadata.namespace ?? "", name: secretName(app) };
  const data = Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [
      secretKey(name),
      value === null ? null : Buffer.from(value).toString("base64"),
    ]),
  );
  if (await isSecretMissing(session, app)) {
    const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
    const metadata = {
      ...key,
      labels: { [LABELS.app]: session.cache.guid(App, app) },
      ownerReferences: appOwnerReferences(app),
    };
    try {
      const draft = { metadata, type: "Opaque", data: present };
      return void (await accessSecret(() => platformClient.create(Secret, draft, { signal }), signal));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      await isSecretMissing(session, app);
    }
  }
  await accessSecret(() => platformClient.patch(Secret, key, { type: "merge", body: { data } }, { signal }), signal);
}
