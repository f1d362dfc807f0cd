// Names of images and of the platform's own places in a registry. Pure.
import { omitUndefined } from "../../kube/api/omit-undefined.ts";
import { checkBlobName, InvalidBlobName, type BlobKind } from "../blob-store.ts";

/** An image of a registry. `host` has the port; `repository` no leading slash. With both, the digest wins over the tag. */
export interface ImageName {
  host: string;
  repository: string;
  tag?: string;
  digest?: string;
}

/** The platform's part of a registry: every image of spaces is below it. `path` is empty or has no slash at its ends. */
export interface RegistryPrefix {
  host: string;
  path: string;
}

const HOST = /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
const COMPONENT = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const REPOSITORY = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`);
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const DIGEST = /^sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})$/;
const MAX_REPOSITORY = 255;
const DOCKER_HUB = "docker.io";

/** The name of an image cannot be read. */
export class InvalidImageName extends Error {
  constructor(what: string) {
    super(what);
    this.name = "InvalidImageName";
  }
}

/** Reads a name as Docker does: without a host it is Docker Hub's, without tag and digest it has the tag `latest`. @throws InvalidImageName */
export function parseImageName(text: string): ImageName {
  const { host, path, tag, digest } = splitName(text);
  const repository = isDockerHub(host) && !path.includes("/") ? `library/${path}` : path;
  if (!HOST.test(host) || !isRepository(repository) || !matches(TAG, tag) || !matches(DIGEST, digest))
    throw new InvalidImageName(
      `${JSON.stringify(text.slice(0, 200))} is no name of an image; one looks like registry.example/team/app:1.0`,
    );
  const isBare = tag === undefined && digest === undefined;
  return { host, repository, ...omitUndefined({ tag: isBare ? "latest" : tag, digest }) };
}

function splitName(text: string) {
  const [named, digest] = splitAt(text, "@");
  const [host, rest] = splitHost(named);
  const [path, tag] = splitAt(rest, ":");
  return { host, path, tag, digest };
}

/** The text before and after the first separator. */
function splitAt(text: string, separator: string): [before: string, after: string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function matches(pattern: RegExp, text: string | undefined): boolean {
  return text === undefined || pattern.test(text);
}

function splitHost(named: string): [host: string, rest: string] {
  const slash = named.indexOf("/");
  const first = named.slice(0, Math.max(slash, 0));
  const hasHost = /[.:[]/.test(first) || first === "localhost";
  return hasHost ? [first.toLowerCase(), named.slice(slash + 1)] : [DOCKER_HUB, named];
}

function isRepository(text: string): boolean {
  return REPOSITORY.test(text) && text.length <= MAX_REPOSITORY;
}

/** The inverse of `parseImageName`, always with the host. */
export function formatImageName({ host, repository, tag, digest }: ImageName): string {
  return `${host}/${repository}${tag === undefined ? "" : `:${tag}`}${digest === undefined ? "" : `@${digest}`}`;
}

/** Reads `host[:port]/path`; the path may have several parts or be absent. @throws InvalidImageName that says what a prefix looks like */
export function parseRegistryPrefix(text: string): RegistryPrefix {
  const [host = "", ...parts] = text.replace(/\/+$/, "").split("/");
  const path = parts.join("/");
  if (!HOST.test(host) || !/[.:[]|^localhost$/.test(host) || (path !== "" && !REPOSITORY.test(path)))
    throw new InvalidImageName(
      `${JSON.stringify(text.slice(0, 200))} is no place in a registry: give host[:port]/path without https://, the path in lower case, as in registry.example/cupola`,
    );
  return { host: host.toLowerCase(), path };
}

/** The repository of a space's contents or images of one kind, without the host. @throws InvalidBlobName */
export function repositoryOf(prefix: RegistryPrefix, space: string, kind: BlobKind): string {
  checkBlobName(space);
  if (!REPOSITORY.test(space))
    throw new InvalidBlobName("in a registry a space GUID has lower case letters, digits and single dashes between");
  return join(prefix, `${space}/${kind}`);
}

/** The repository of an app's images, without the host. */
export function appRepositoryOf(prefix: RegistryPrefix, space: string, app: string): string {
  checkBlobName(space);
  checkBlobName(app);
  return join(prefix, `${space}/apps/${app}`);
}

/** Whether an image is in a space's own part of the platform's registry. @throws InvalidBlobName */
export function isOfSpace(prefix: RegistryPrefix, space: string, { host, repository }: ImageName): boolean {
  checkBlobName(space);
  return host === prefix.host && repository.startsWith(`${join(prefix, space)}/`);
}

/** The repository whose tags are the GUIDs of all spaces that ever stored something: a registry cannot be asked for them in a way that all support. */
export function spaceIndexRepository(prefix: RegistryPrefix): string {
  return join(prefix, "spaces");
}

/** Where the registry of this host is served: Docker Hub's has another name than its images carry. */
export function apiHostOf(host: string): string {
  return isDockerHub(host) ? "registry-1.docker.io" : host;
}

export function isDockerHub(host: string): boolean {
  return host === DOCKER_HUB || host === "index.docker.io";
}

function join({ path }: RegistryPrefix, rest: string): string {
  return path === "" ? rest : `${path}/${rest}`;
}
