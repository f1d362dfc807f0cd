// A broker's username and password, in a Secret of the platform; where that is full, those of a space's broker in a Secret beside it. The API writes them as itself
// and never reads them. Other credentials get another place, so that the broker is asked again.
import { randomBytes } from "node:crypto";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { LABELS } from "../../../crds/labels.ts";
import {
  newCredentialsRef,
  placeOfCredentials,
  type CredentialsRef,
} from "../../../crds/service-broker/credentials.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { isAlreadyExists, isInvalid, isNotFound } from "../../../kube/client/errors.ts";
import { ignoreNotFound } from "../../../kube/client/ignore-gone.ts";
import { accessSecret } from "../../access/rbac-lag.ts";
import type { Session } from "../../access/session.ts";

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
  use: (ref: CredentialsRef) => Promise<T>,
): Promise<T> {
  const ref = await keepCredentials(session, owner, credentials);
  try {
    return await use(ref);
  } catch (cause) {
    await removeCredentials(session, owner.namespace, ref).catch((error: unknown) => {
      throw new AggregateError([cause, error], "the request failed, and its credentials were not removed");
    });
    throw cause;
  }
}

async function keepCredentials(
  session: Session,
  owner: CredentialsOwner,
  { username, password }: BrokerCredentials,
): Promise<CredentialsRef> {
  const unique = randomBytes(8).toString("hex");
  const dataFor = (ref: CredentialsRef): Record<string, string> => {
    const { keys } = placeOfCredentials(owner.namespace, ref);
    return Object.fromEntries([username, password].map((text, at) => [keys[at], Buffer.from(text).toString("base64")]));
  };
  const shared = newCredentialsRef(owner.namespace, unique);
  try {
    await addToShared(session, shared.name, dataFor(shared));
    return shared;
  } catch (full) {
    if (!isInvalid(full) || owner.namespace === SYSTEM_NAMESPACE) throw full;
    const own = { name: `${OWN_PREFIX}-${unique}` };
    await createOwn(session, owner, own.name, dataFor(own));
    return own;
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

async function addToShared(
  { platformClient, signal }: Session,
  name: string,
  data: Record<string, string>,
): Promise<void> {
  const key = { namespace: SYSTEM_NAMESPACE, name };
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
  ref: CredentialsRef,
): Promise<void> {
  const { secret: key, keys, isShared } = placeOfCredentials(namespace, ref);
  if (!isShared && !OWN_NAME.test(ref.name)) return;
  const data = Object.fromEntries(keys.map((entry) => [entry, null]));
  const remove = (): Promise<unknown> =>
    isShared
      ? platformClient.patch(Secret, key, { type: "merge", body: { data } }, { signal })
      : platformClient.delete(Secret, key, { signal });
  await ignoreNotFound(accessSecret(remove, signal));
}
