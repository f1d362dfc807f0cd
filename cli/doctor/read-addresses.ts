// Certificates, and the names by which clients come, as this machine sees them.
import { randomBytes, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { connect, getCACertificates, type ConnectionOptions } from "node:tls";
import { Domain } from "../../crds/domain/domain.ts";
import { SYSTEM_NAMESPACE } from "../../crds/groups.ts";
import { Ingress, Secret, Service, type Deployment } from "../../kube/api/builtin.ts";
import type { KubeObject } from "../../kube/api/object.ts";
import type { ObjectOf } from "../../kube/api/resource-ref.ts";
import { publicUrlOf } from "./chart-arguments.ts";
import { CouldNotLook } from "./finding.ts";
import type { CertificateRow, Handshake, NameRow } from "./facts.ts";
import type { FactReader } from "./fact-reader.ts";

type Deployments = readonly ObjectOf<typeof Deployment>[];

const HANDSHAKE_MS = 5_000;
const API = { namespace: SYSTEM_NAMESPACE, name: "cupola-api" };

/** The Secrets of TLS that the chart's Deployments mount, and that of the API's Ingress. */
async function listTlsSecrets(
  { kube, call }: FactReader,
  deployments: Deployments,
): Promise<ObjectOf<typeof Secret>[]> {
  const mounted = deployments.flatMap(({ spec }) =>
    (spec?.template.spec?.volumes ?? []).flatMap(({ name, secret }) =>
      name === "tls" ? (secret?.secretName ?? []) : [],
    ),
  );
  const ingress = await kube.find(Ingress, API, call);
  const served = (ingress?.spec?.tls ?? []).flatMap(({ secretName }) => secretName ?? []);
  const names = [...new Set([...mounted, ...served])];
  const found = await Promise.all(names.map((name) => kube.find(Secret, { ...API, name }, call)));
  return found.flatMap((secret) => secret ?? []);
}

export async function readCertificates(reader: FactReader, deployments: Deployments): Promise<CertificateRow[]> {
  const secrets = await listTlsSecrets(reader, deployments);
  return secrets.map(({ metadata, data }) => ({
    secret: `${SYSTEM_NAMESPACE}/${metadata.name}`,
    endsAt: endOf(textIn(data, "tls.crt")),
  }));
}

const textIn = (data: Record<string, string> | undefined, key: string): string =>
  Buffer.from(data?.[key] ?? "", "base64").toString("utf8");

function endOf(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch {
    return undefined; // told as a finding
  }
}

/** Undefined where the API has no public https address. @throws CouldNotLook when nobody answers there */
export async function readHandshake(reader: FactReader, deployments: Deployments): Promise<Handshake | undefined> {
  const url = publicUrlOf(deployments);
  if (url?.protocol !== "https:") return undefined;
  const secrets = await listTlsSecrets(reader, deployments);
  // The chart's own certificate is its own authority.
  const ca = [
    ...getCACertificates("default"),
    ...getCACertificates("system"),
    ...secrets.map(({ data }) => textIn(data, "ca.crt")).filter((pem) => endOf(pem)),
  ];
  return shakeHands(url, ca);
}

function shakeHands(url: URL, ca: string[]): Promise<Handshake> {
  const { hostname: host } = url;
  const options: ConnectionOptions = {
    host,
    port: Number(url.port || 443),
    ca,
    rejectUnauthorized: false,
    timeout: HANDSHAKE_MS,
    ...(isIP(host) === 0 && { servername: host }),
  };
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      socket.destroy();
      reject(new CouldNotLook(`no handshake with ${url.host}: ${why}`));
    };
    const socket = connect(options, () => {
      const endsAt = Date.parse(socket.getPeerCertificate().valid_to);
      const problem = socket.authorized ? undefined : String(socket.authorizationError);
      socket.destroy();
      resolve({ host: url.host, problem, endsAt });
    });
    socket.on("timeout", () => fail(`nothing came in ${HANDSHAKE_MS / 1000} s`));
    socket.on("error", ({ message }) => fail(message));
  });
}

/** The API's name, and a random name below each shared domain. */
export async function readNames(reader: FactReader, deployments: Deployments): Promise<NameRow[]> {
  const url = publicUrlOf(deployments);
  const api = url && isIP(url.hostname.replace(/^\[|\]$/g, "")) === 0 ? [url.hostname] : [];
  const domains = (await reader.list(Domain, { namespace: SYSTEM_NAMESPACE })).filter(({ spec }) => !spec.internal);
  const [apiAddresses, routerAddresses] = await Promise.all([readApiAddresses(reader), readRouterAddresses(reader)]);
  return Promise.all([
    ...api.map((name) => resolveName(reader, name, apiAddresses)),
    ...domains.map(({ spec }) =>
      resolveName(reader, `doctor-${randomBytes(4).toString("hex")}.${spec.name}`, routerAddresses),
    ),
  ]);
}

async function resolveName(
  { surroundings }: FactReader,
  name: string,
  expected: readonly string[] | undefined,
): Promise<NameRow> {
  const leadsTo = await surroundings.resolve(name).catch(() => []);
  return { name, leadsTo, expected };
}

type Status = { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } } | undefined;

/** Addresses of the API's Ingress, else of its Service of type LoadBalancer. */
async function readApiAddresses(reader: FactReader): Promise<readonly string[] | undefined> {
  const { kube, call } = reader;
  const [ingress, service] = await Promise.all([kube.find(Ingress, API, call), kube.find(Service, API, call)]);
  return toAddresses(reader, ingress ? [ingress] : service ? [service] : []);
}

/** Addresses of all Ingresses that our routers made. */
async function readRouterAddresses(reader: FactReader): Promise<readonly string[] | undefined> {
  const ingresses = await reader.list(Ingress, { labelSelector: "cupola.dev/route-guid" });
  return toAddresses(reader, ingresses);
}

/** Hostnames are resolved. Undefined where there is no address at all. */
async function toAddresses(
  { surroundings }: FactReader,
  objects: readonly KubeObject[],
): Promise<string[] | undefined> {
  const points = objects.flatMap(({ status }) => (status as Status)?.loadBalancer?.ingress ?? []);
  const ips = points.flatMap(({ ip }) => ip ?? []);
  const hostnames = [...new Set(points.flatMap(({ hostname }) => hostname ?? []))];
  const resolved = await Promise.all(hostnames.map((name) => surroundings.resolve(name).catch(() => [])));
  const all = [...new Set([...ips, ...resolved.flat()])];
  return all.length > 0 ? all : undefined;
}
