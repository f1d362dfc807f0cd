// A broker's username and password: in a Secret of its own in a space, under a prefix of its own in the Secret of the whole platform's brokers. The API writes them as itself
// and never reads them. Other credentials get another place, so that the broker is asked again.
import { randomBytes } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import { BROKER_CREDENTIALS_SECRET, credentialKeys } from "../../../crds/service-broker/credentials.ts";
import type { ServiceBroker } from "../../../crds/service-broker/service-broker.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { isAlreadyExists, isNotFound } from "../../../kube/client/errors.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";

type SecretRef = ServiceBroker["spec"]["credentialsSecretRef"];

export interface BrokerCredentials {
  username: string;
  password: string;
}

/** Whose credentials they are: the broker's namespace and GUID. */
interface CredentialsOwner {
  namespace: string;
  guid: string;
}

const OWN_PREFIX = "cupola-broker";
const OWN_NAME = new RegExp(`^${OWN_PREFIX}-[0-9a-f]{16}$`);

/** Keeps the credentials while `use` runs, and after it unless it fails. The caller must have been authorized. */
export async function withNewCredentials<T>(
  session: Session,
  owner: CredentialsOwner,
  credentials: BrokerCredentials,
  use: (ref: SecretRef) => Promise<T>,
): Promise<T> {
  const unique = randomBytes(8).toString("hex");
  const isShared = owner.namespace === SYSTEM_NAMESPACE;
  const ref = isShared ? { name: BROKER_CREDENTIALS_SECRET, prefix: unique } : { name: `${OWN_PREFIX}-${unique}` };
  const [username, password] = credentialKeys(ref);
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const data = { [username]: encode(credentials.username), [password]: encode(credentials.password) };
  if (isShared) await addToShared(session, data);
  else await createOwn(session, owner, ref.name, data);
  try {
    return await use(ref);
  } catch (cause) {
    await removeCredentials(session, owner.namespace, ref).catch((error: unknown) => {
      throw new AggregateError([cause, error], "the request failed, and its credentials were not removed");
    });
    throw cause;
  }
}

async function createOwn(
  { platformClient, signal }: Session,
  { namespace, guid }: CredentialsOwner,
  name: string,
  data: Record<string, string>,
): Promise<void> {
  const metadata = { namespace, name, labels: { [LABELS.serviceBroker]: guid } };
  const draft = { metadata, type: "Opaque", immutable: true, data };
  await accessSecret(() => platformClient.create(Secret, draft, { signal }), signal);
}

async function addToShared({ platformClient, signal }: Session, data: Record<string, string>): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name: BROKER_CREDENTIALS_SECRET };
  const patch = () => platformClient.patch(Secret, key, { type: "merge", body: { data } }, { signal });
  try {
    await patch();
  } catch (missing) {
    if (!isNotFound(missing)) throw missing;
    try {
      await platformClient.create(Secret, { metadata: key, type: "Opaque", data }, { signal });
    } catch (error) {
      // Another request was first.
      if (!isAlreadyExists(error)) throw error;
      await patch();
    }
  }
}

/** Takes away what `withNewCredentials` made; what somebody else made stays. */
export async function removeCredentials(
  { platformClient, signal }: Session,
  namespace: string,
  ref: SecretRef,
): Promise<void> {
  const { name, prefix } = ref;
  const key = { namespace, name };
  const isShared = namespace === SYSTEM_NAMESPACE && name === BROKER_CREDENTIALS_SECRET && prefix !== undefined;
  if (!isShared && !OWN_NAME.test(name)) return;
  const data = Object.fromEntries(credentialKeys(ref).map((entry) => [entry, null]));
  const remove = (): Promise<unknown> =>
    isShared
      ? platformClient.patch(Secret, key, { type: "merge", body: { data } }, { signal })
      : platformClient.delete(Secret, key, { signal });
  await accessSecret(remove, signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
