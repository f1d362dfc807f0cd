// Reads a request of /oauth/token, its form and its Basic header. Pure: it says which credential to check, and checks none.

/** An error as OAuth 2 and UAA answer it. */
export interface LoginProblem {
  status: 400 | 401;
  error: "invalid_request" | "unsupported_grant_type" | "unauthorized" | "invalid_token";
  description: string;
}

/** A Kubernetes token to check, a refresh token to open, or neither. */
export type Grant = {
  grantType: string;
  clientId: string;
} & (
  | {
      kind: "credential";
      credential: string;
      /** The user that the credential must be of; any when undefined. */
      userName: string | undefined;
    }
  | { kind: "refresh"; refreshToken: string }
  /** `cf` with a kubeconfig refreshes a token that it never got, and sends the answer nowhere. */
  | { kind: "none" }
);

const DEFAULT_CLIENT = "cf";
const MAX_CLIENT_ID = 256;
/** A longer one, sealed twice over in base64, would not fit into a header of 16 KB. */
export const MAX_CREDENTIAL = 8 * 1024;

export const BAD_CREDENTIALS: LoginProblem = {
  status: 401,
  error: "unauthorized",
  description:
    "Kubernetes does not accept this token, or it is another user's. The password is a token of Kubernetes, for example of kubectl create token NAME.",
};

type Form = Readonly<Record<string, string>>;
interface Client {
  id: string;
  secret: string;
}

interface Asked {
  form: Form;
  grantType: string;
  clientId: string;
  /** The secret of the Basic header. */
  secret: string | undefined;
}

const GRANTS: Record<string, (asked: Asked) => Grant | LoginProblem> = {
  password: (asked) => toCredential(asked, asked.form["username"] || undefined, "password"),
  client_credentials: ({ form, ...asked }) =>
    toCredential(
      { ...asked, form: { ...form, client_secret: form["client_secret"] || (asked.secret ?? "") } },
      asked.clientId,
      "client_secret",
    ),
  "urn:ietf:params:oauth:grant-type:jwt-bearer": (asked) => toCredential(asked, undefined, "assertion"),
  refresh_token: ({ form: { refresh_token: refreshToken }, grantType, clientId }) => {
    if (refreshToken) return { grantType, clientId, kind: "refresh", refreshToken };
    const isSentByCf = refreshToken === "" && clientId === DEFAULT_CLIENT;
    return isSentByCf ? { grantType, clientId, kind: "none" } : invalid("refresh_token is missing");
  },
};

/** @param authorization the header, as sent */
export function parseGrant(form: Form, authorization: string | undefined): Grant | LoginProblem {
  const { grant_type: grantType = "", client_id: given } = form;
  const basic = parseBasic(authorization);
  const clientId = given || basic?.id || DEFAULT_CLIENT;
  if (clientId.length > MAX_CLIENT_ID) return invalid(`client_id has more than ${MAX_CLIENT_ID} characters`);
  const toGrant = Object.hasOwn(GRANTS, grantType) ? GRANTS[grantType] : undefined;
  return toGrant ? toGrant({ form, grantType, clientId, secret: basic?.secret }) : unsupported(grantType);
}

function toCredential(
  { form, grantType, clientId }: Asked,
  userName: string | undefined,
  field: string,
): Grant | LoginProblem {
  const credential = form[field];
  if (!credential) return invalid(`${field} is missing: it is a token of Kubernetes`);
  if (credential.length > MAX_CREDENTIAL)
    return invalid(`${field} has more than ${MAX_CREDENTIAL} characters. Send it as bearer token instead of a login`);
  if (!/^[\x21-\x7e]+$/.test(credential)) return BAD_CREDENTIALS;
  return { grantType, clientId, userName, kind: "credential", credential };
}

/** Undefined for another scheme. The name of a service account has colons, a token has none, so the last one separates them. */
function parseBasic(authorization: string | undefined): Client | undefined {
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization?.trim() ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.lastIndexOf(":");
  return colon < 0 ? undefined : { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
}

/** OAuth 2 has clients encode both parts, and not all do. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function invalid(problem: string): LoginProblem {
  return { status: 400, error: "invalid_request", description: `${problem}.` };
}

function unsupported(grantType: string): LoginProblem {
  const known = "password, client_credentials, refresh_token and jwt-bearer";
  const given = grantType === "" ? "grant_type is missing" : "This grant_type is not supported";
  return { status: 400, error: "unsupported_grant_type", description: `${given}: there are ${known}.` };
}
