// Credentials on requests to registries: Basic, or bearer tokens of the service that the registry names. Tokens are kept in memory until they expire.
import { LRUCache } from "lru-cache";
import type { Connections } from "./http-request.ts";
import { parseChallenge, type Challenge } from "./challenge.ts";
import { toBasic, type RegistryCredentials } from "./docker-config.ts";
import { RegistryError } from "./registry-error.ts";
import { fetchToken } from "./token-service.ts";

/** Credentials for a repository; asked again at each challenge, so that a changed file is read. Undefined for an anonymous caller. */
export type CredentialSource = (host: string, repository: string) => Promise<RegistryCredentials | undefined>;

/** Subject of a request. */
export interface Subject {
  host: string;
  /** As in `repository:team/app:pull`; the first one names the repository whose credentials count. */
  scopes: readonly string[];
}

export interface Authorizer {
  /** The header that worked last time, or undefined. */
  known(subject: Subject): Promise<string | undefined>;
  /** The header that answers a challenge. `rejected` is the one that led to it. @throws RegistryError (401 when there is none) */
  answer(subject: Subject, challenge: string, rejected: string | undefined): Promise<string>;
}

export interface AuthorizerOptions {
  credentials: CredentialSource;
  connections: Connections;
  /** Whether credentials may be sent to this URL: not by plain http, but to listed hosts. */
  isAllowed: (url: URL) => boolean;
}

const MAX_TOKENS = 1_000;
/** A token is not used in its last seconds. */
const MARGIN_MS = 5_000;

export function createAuthorizer({ credentials, connections, isAllowed }: AuthorizerOptions): Authorizer {
  const headers = new LRUCache<string, Promise<string>>({ max: MAX_TOKENS });
  const remember = (key: string, header: Promise<string>, lifeMs: number | undefined): void => {
    headers.set(key, header, lifeMs === undefined ? {} : { ttl: Math.max(lifeMs - MARGIN_MS, 1) });
  };
  const fetchBearer = async (subject: Subject, challenge: Challenge & { scheme: "bearer" }): Promise<string> => {
    const realm = toRealm(challenge.realm, subject.host, isAllowed);
    const { token, lifeMs } = await fetchToken({
      connections,
      realm,
      service: challenge.service,
      scopes: subject.scopes.length > 0 ? subject.scopes : [challenge.scope ?? ""].filter(Boolean),
      credentials: await readCredentials(credentials, subject),
      host: subject.host,
    });
    remember(keyOf(subject), Promise.resolve(`Bearer ${token}`), lifeMs);
    return `Bearer ${token}`;
  };
  const answerOnce = async (subject: Subject, header: string, rejected: string | undefined): Promise<string> => {
    const challenge = parseChallenge(header);
    if (challenge?.scheme === "bearer") return fetchBearer(subject, challenge);
    const found = await readCredentials(credentials, subject);
    const basic = challenge && found && toBasic(found);
    if (!basic || basic === rejected) throw refusal(subject.host, found !== undefined);
    remember(keyOf(subject), Promise.resolve(basic), undefined);
    return basic;
  };
  return {
    known: async (subject) => headers.get(keyOf(subject))?.catch(() => undefined),
    async answer(subject, challenge, rejected) {
      const key = keyOf(subject);
      const current = headers.get(key);
      // Several requests of one subject are challenged at once: one of them fetches a token.
      if (current && (await current.catch(() => rejected)) !== rejected) return current;
      const answer = answerOnce(subject, challenge, rejected);
      headers.set(key, answer);
      answer.catch(() => headers.get(key) === answer && headers.delete(key));
      return answer;
    },
  };
}

function toRealm(text: string, host: string, isAllowed: (url: URL) => boolean): URL {
  const realm = URL.parse(text);
  if (!realm || !isAllowed(realm))
    throw new RegistryError(
      `the registry ${host} names no https address as its token service; list the service's host as insecure if plain http is meant`,
      { status: 401 },
    );
  return realm;
}

async function readCredentials(source: CredentialSource, { host, scopes }: Subject) {
  const [, repository = ""] = scopes[0]?.split(":") ?? [];
  return source(host, repository);
}

function refusal(host: string, hadCredentials: boolean): RegistryError {
  const why = hadCredentials
    ? "refuses the credentials given for it"
    : "asks for credentials, and none are given for it";
  return new RegistryError(`the registry ${host} ${why}`, { status: 401 });
}

function keyOf({ host, scopes }: Subject): string {
  return `${host} ${scopes.join(" ")}`;
}
