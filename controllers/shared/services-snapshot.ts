// Bound services as an app finds them: VCAP_SERVICES and DATABASE_URL, or files, kept in a Secret as the app's own secrets are.
import { filesVariable, servicesDelivery, BINDINGS_FOLDER, type ServicesDelivery } from "../../crds/app/features.ts";
import { systemEnv, type BoundService } from "../../crds/app/vcap.ts";
import { CLAIM_CONSENT, isClaimOpen, type MountedClaim } from "../../crds/mounted-claim.ts";
import type { MountedFiles } from "../../crds/mounted-files.ts";
import type { EnvVar } from "../../crds/schema-fields.ts";
import { toBindingFiles, type BindingFile } from "../../crds/service-binding/binding-files.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { readBindingContent, type BindingContent } from "../../crds/service-binding/binding-secret.ts";
import { toVolumes } from "../../crds/service-binding/volumes.ts";
import { newestBound, toBoundService } from "../../crds/service-binding/bound-service.ts";
import { isCredentialsSecret, readCredentials, type Credentials } from "../../crds/service-instance/credentials.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { PersistentVolumeClaim, Secret } from "../../kube/api/builtin.ts";
import { NotReady, Stalled, type ReconcileContext } from "../../kube/controller/controller.ts";
import { withoutDeleting } from "./app-owned.ts";
import { keepEnv, MAX_ENV_BYTES, whileSecretsAllowed, type EnvOwner } from "./env-snapshot.ts";
import { resolveGUID } from "./guid.ts";

/** A missing or refused Secret is read again after this time, since no informer watches Secrets. */
const RECHECK_MS = 10_000;

export interface ServicesSnapshot {
  /** The variables. */
  env: EnvVar[];
  /** Undefined where the app asks for none, and where none would be in the folder. */
  files?: MountedFiles | undefined;
  /** Undefined where no bound service gives any. */
  volumes?: MountedClaim[] | undefined;
}

interface ServicesOwner extends Omit<EnvOwner, "client"> {
  /** By default the app's features decide. */
  delivery?: ServicesDelivery;
}

/**
 * Reads bindings live, since a restart that follows a bind at once must have it: a cache without instances may be a late one.
 * @throws NotReady when the credentials of a bound instance are missing or not allowed; Stalled when they cannot be files
 */
export async function snapshotServices(
  { delivery, ...owner }: ServicesOwner,
  context: Pick<ReconcileContext, "read" | "client">,
): Promise<ServicesSnapshot> {
  const { namespace = "" } = owner.app.metadata;
  const how = delivery ?? servicesDelivery(owner.app);
  const { items } = await context.client.list(ServiceBinding, { namespace });
  const own = withoutDeleting(items).filter(({ spec }) => spec.appRef?.name === owner.app.metadata.name);
  if (own.length === 0 && how !== "file") return { env: how === "folder" ? [filesVariable(how)] : [] };
  const pairs = (await Promise.all(own.map((binding) => findInstance(binding, context)))).flat();
  const found = await whileSecretsAllowed(namespace, () =>
    Promise.all(newestBound(pairs).map((pair) => readService(pair, context))),
  );
  const services = found.map(({ service }) => service);
  const keeper = { ...owner, client: context.client };
  const volumes = await requireVolumes(
    namespace,
    found.flatMap(({ mounts }) => mounts),
    context,
  );
  const given =
    how === "environment"
      ? { env: await keepServices(keeper, systemEnv(services)) }
      : await keepFiles(keeper, how, services);
  return { ...given, ...(volumes.length > 0 && { volumes }) };
}

/** Claims that somebody who may update them has opened: a broker's word is not enough. @throws Stalled; NotReady, as nothing tells when a claim changes */
async function requireVolumes(
  namespace: string,
  mounts: readonly unknown[],
  { client }: Pick<ReconcileContext, "client">,
): Promise<MountedClaim[]> {
  const found = toVolumes(mounts);
  if ("problem" in found) throw new Stalled("VolumesInvalid", `a bound service's volumes: ${found.problem}`);
  for (const { claimName, readOnly } of found.claims) {
    const claim = await client.find(PersistentVolumeClaim, { namespace, name: claimName });
    if (claim && isClaimOpen(claim.metadata.labels, readOnly)) continue;
    const { label, read, write } = CLAIM_CONSENT;
    throw new NotReady(
      "VolumeNotAllowed",
      `PersistentVolumeClaim ${claimName} does not exist in namespace ${namespace}, or is not labelled ${label}=${readOnly ? `${read} or ${write}` : write}; somebody who may update it labels it, or unbind the service`,
      { isFailure: true, requeueAfterMs: RECHECK_MS },
    );
  }
  return found.claims;
}

interface Pair {
  binding: ServiceBinding;
  instance: ServiceInstance;
}

/** Nothing for a binding whose instance is gone: the binding's Ready says so. */
async function findInstance(binding: ServiceBinding, { client }: Pick<ReconcileContext, "client">): Promise<Pair[]> {
  const at = { namespace: instanceNamespaceOf(binding), name: binding.spec.instanceRef.name };
  const instance = await client.find(ServiceInstance, at);
  return instance && isWithin(instance, binding.metadata.namespace) ? [{ binding, instance }] : [];
}

async function readService(
  { binding, instance }: Pair,
  context: Pick<ReconcileContext, "read" | "client">,
): Promise<{ service: BoundService; mounts: readonly unknown[] }> {
  const { guid } = resolveGUID(ServiceInstance, instance, context);
  const bound = { ...binding, guid: resolveGUID(ServiceBinding, binding, context).guid };
  const content =
    instance.spec.type === "managed"
      ? await readManagedContent(bound, context.client)
      : await readInstanceContent(instance, guid, context.client);
  const service = toBoundService({ instance: { ...instance, guid }, binding: bound, content });
  return { service, mounts: content.volumeMounts ?? [] };
}

async function readManagedContent(
  { metadata: { namespace = "" }, status, guid }: ServiceBinding & { guid: string },
  client: ReconcileContext["client"],
): Promise<BindingContent> {
  const name = status?.binding?.name ?? "";
  const content = readBindingContent(await client.find(Secret, { namespace, name }), guid);
  if (content) return content;
  throw new NotReady(
    "CredentialsMissing",
    `Secret ${name} of a binding does not exist, or is not its own; unbind the instance and bind it again`,
    { isFailure: true, requeueAfterMs: RECHECK_MS },
  );
}

/** The content of each binding of a user-provided instance. @throws NotReady */
export async function readInstanceContent(
  instance: ServiceInstance,
  guid: string,
  client: ReconcileContext["client"],
): Promise<BindingContent> {
  const { syslogDrainURL } = instance.spec;
  const credentials = await readInstanceCredentials(instance, guid, client);
  return { credentials, ...(syslogDrainURL !== undefined && { syslogDrainURL }) };
}

async function readInstanceCredentials(
  { metadata: { namespace = "", name }, spec }: ServiceInstance,
  guid: string,
  client: ReconcileContext["client"],
): Promise<Credentials | null> {
  const ref = spec.credentialsSecretRef?.name;
  if (ref === undefined) return null;
  const secret = await client.find(Secret, { namespace, name: ref });
  const isAllowed = secret && isCredentialsSecret(secret, name, guid);
  const credentials = isAllowed ? readCredentials(secret) : undefined;
  if (credentials) return credentials;
  // "Absent" and "not allowed" give the same answer, so that it does not reveal names of Secrets.
  const problem = isAllowed
    ? `has no JSON object in its key credentials`
    : `does not exist, or is neither the instance's own nor labelled cupola.dev/env=allowed`;
  throw new NotReady(
    "CredentialsMissing",
    `Secret ${ref} of service instance ${name} ${problem}; correct it, or unbind the instance`,
    { isFailure: true, requeueAfterMs: RECHECK_MS },
  );
}

/** As in Cloud Foundry, DATABASE_URL stays a variable. */
async function keepFiles(
  owner: EnvOwner,
  delivery: Exclude<ServicesDelivery, "environment">,
  services: readonly BoundService[],
): Promise<ServicesSnapshot> {
  const found = toBindingFiles(delivery, services);
  if ("problem" in found)
    throw new Stalled("ServiceFilesInvalid", `the bound services cannot be files: ${found.problem}`);
  const { DATABASE_URL } = systemEnv(services);
  return {
    env: [filesVariable(delivery), ...(DATABASE_URL === undefined ? [] : await keepServices(owner, { DATABASE_URL }))],
    ...(found.files.length > 0 && { files: await keepMounted(owner, found.files) }),
  };
}

/** Keys are numbers, as not every path is a key. */
async function keepMounted(owner: EnvOwner, files: readonly BindingFile[]): Promise<MountedFiles> {
  const texts = files.map(({ path, text }, at) => ({
    path,
    key: `f${at}`,
    data: Buffer.from(text).toString("base64"),
  }));
  const variables = texts.map(({ key }) => ({ name: key, valueFrom: { secretKeyRef: { name: "services", key } } }));
  const { secret } = await keepEnv(owner, variables, new Map(texts.map(({ key, data }) => [key, data])));
  return {
    mountPath: BINDINGS_FOLDER,
    secretRef: { name: secret?.name ?? "" },
    items: texts.map(({ key, path }) => ({ key, path })),
  };
}

async function keepServices(owner: EnvOwner, variables: Readonly<Record<string, string>>): Promise<EnvVar[]> {
  const values = Object.entries(variables);
  const bytes = values.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  if (bytes > MAX_ENV_BYTES)
    throw new Stalled(
      "ServicesTooLarge",
      `what is bound to the app has ${bytes} bytes of credentials; an app may have ${MAX_ENV_BYTES}: unbind an instance`,
    );
  const env = values.map(([name]) => ({ name, valueFrom: { secretKeyRef: { name: "services", key: name } } }));
  const encoded = values.map(([name, value]): [string, string] => [name, Buffer.from(value).toString("base64")]);
  return (await keepEnv(owner, env, new Map(encoded))).env;
}
