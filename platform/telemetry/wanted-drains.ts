// Which log drains apps have: those of bound user-provided instances, and those that brokers gave.
import { isIP } from "node:net";
import { App } from "../../crds/app/app.ts";
import { guidOf } from "../../crds/guid.ts";
import { displayNameOf } from "../../crds/object-names.ts";
import { readBindingContent } from "../../crds/service-binding/binding-secret.ts";
import { isBound } from "../../crds/service-binding/bound-service.ts";
import { instanceNamespaceOf, ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import { isCredentialsSecret, readCredentials, type Credentials } from "../../crds/service-instance/credentials.ts";
import { isWithin, ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import { addressRuleOf } from "../../controllers/shared/osb/broker-addresses.ts";
import { toLookup } from "../../controllers/shared/osb/broker-agent.ts";
import { readNetworkSettings } from "../../controllers/shared/network-settings.ts";
import { findProvidedPlan } from "../../controllers/shared/osb/provided-plan.ts";
import { findTenancy, type Tenancy } from "../../controllers/shared/tenancy.ts";
import { Secret } from "../../kube/api/builtin.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Reader } from "../../kube/cache/reader.ts";
import { parseDrainAddress, toHostAndPort, type DrainAddress } from "../../telemetry/drains/drain-address.ts";
import type { DrainCertificates, DrainNetwork } from "../../telemetry/drains/drain-connection.ts";
import type { DrainedApp } from "../../telemetry/drains/syslog-message.ts";
import type { CountedDrain } from "./drain-limits.ts";

/** A binding that may have a drain. */
export interface Candidate {
  binding: ServiceBinding;
  instance: ServiceInstance;
  app: DrainedApp;
}

/** Content of a binding's Secrets. */
interface DrainContent {
  url: string;
  credentials: Credentials | null;
}

/** A drain that is not started, with the reason for the app's log. */
export interface RefusedDrain {
  key: string;
  app: DrainedApp;
  problem: string;
}

/** A drain that may be used. */
export type FoundDrain = Omit<CountedDrain, "version"> & {
  /** Name of the bound instance. */
  service: string;
};

export interface DrainSources {
  read: Reader;
  client: Pick<KubeClient, "find">;
}

/** Bound instances that are known to have a drain, or whose offering may give one. */
export function listCandidates(read: Reader): Candidate[] {
  return read.list(ServiceBinding).flatMap((binding): Candidate[] => {
    const instance = findInstance(binding, read);
    if (!instance || !isBound(instance, binding) || !mayHaveDrain(binding, instance, read)) return [];
    const app = findApp(binding, read);
    return app ? [{ binding, instance, app }] : [];
  });
}

function findInstance(binding: ServiceBinding, read: Reader): ServiceInstance | undefined {
  const { metadata, spec } = binding;
  if (spec.type !== "app" || metadata.deletionTimestamp) return undefined;
  const at = { namespace: instanceNamespaceOf(binding), name: spec.instanceRef.name };
  const instance = read.find(ServiceInstance, at);
  return instance && isWithin(instance, metadata.namespace) ? instance : undefined;
}

function findApp({ metadata: { namespace = "" }, spec }: ServiceBinding, read: Reader): DrainedApp | undefined {
  const app = spec.appRef && read.find(App, { namespace, name: spec.appRef.name });
  const tenancy = app && findTenancy(read, namespace);
  return tenancy && toDrainedApp(app, tenancy);
}

function mayHaveDrain({ status }: ServiceBinding, { spec }: ServiceInstance, read: Reader): boolean {
  if (spec.type !== "managed") return spec.syslogDrainURL !== undefined;
  const { provided } = status ?? {};
  return (
    provided !== undefined && findProvidedPlan(provided, read).offering?.spec.requires.includes("syslog_drain") === true
  );
}

function toDrainedApp(app: App, { space, org }: Tenancy): DrainedApp {
  return { guid: guidOf(app), name: displayNameOf(app), space: space.name, org: org.name };
}

/** Another text for every change that may change the drain. */
export function versionOf({ binding, instance, app }: Candidate, read: Reader): string {
  const [one, other] = [binding, instance].map(({ metadata }) => `${metadata.uid}/${metadata.generation}`);
  return JSON.stringify([one, other, binding.status?.binding?.name, app, readNetworkSettings(read)]);
}

/** Reads its Secrets. Undefined for a binding without a drain. */
export async function readDrain(
  { binding, instance, app }: Candidate,
  { read, client }: DrainSources,
): Promise<FoundDrain | RefusedDrain | undefined> {
  const content = await (instance.spec.type === "managed"
    ? readManaged(binding, client)
    : readUserProvided(instance, client));
  if (!content) return undefined;
  const key = binding.metadata.uid ?? "";
  const address = parseDrainAddress(content.url);
  const name = displayNameOf(instance);
  if ("problem" in address)
    return { key, app, problem: `The log drain of service ${name} is not used: ${address.problem}.` };
  if (!address.wantsLogs)
    return {
      key,
      app,
      problem: `The log drain of service ${name} gets nothing: it asks for metrics alone, and logs are sent.`,
    };
  const certificates = toCertificates(content.credentials);
  const since = toText(binding.metadata.creationTimestamp);
  const network = toNetwork({ binding, instance }, address, read);
  return { key, app, address, certificates, network, since, service: name, instance: instance.metadata.uid ?? "" };
}

/** A client library may make a Date of it. */
function toText(time: unknown): string {
  return time instanceof Date ? time.toISOString() : typeof time === "string" ? time : "";
}

async function readManaged(binding: ServiceBinding, client: DrainSources["client"]): Promise<DrainContent | undefined> {
  const { namespace = "" } = binding.metadata;
  const name = binding.status?.binding?.name;
  const secret = name === undefined ? undefined : await client.find(Secret, { namespace, name });
  const content = readBindingContent(secret, guidOf(binding));
  return content?.syslogDrainURL === undefined
    ? undefined
    : { url: content.syslogDrainURL, credentials: content.credentials };
}

async function readUserProvided(
  instance: ServiceInstance,
  client: DrainSources["client"],
): Promise<DrainContent | undefined> {
  const { syslogDrainURL: url, credentialsSecretRef } = instance.spec;
  if (url === undefined) return undefined;
  const { namespace = "", name } = instance.metadata;
  if (!credentialsSecretRef) return { url, credentials: null };
  const secret = await client.find(Secret, { namespace, name: credentialsSecretRef.name });
  const isAllowed = secret && isCredentialsSecret(secret, name, guidOf(instance));
  return { url, credentials: (isAllowed && readCredentials(secret)) || null };
}

/** As in Cloud Foundry, mutual TLS is by these credentials. */
function toCertificates(credentials: Credentials | null): DrainCertificates {
  const texts = ["cert", "key", "ca"].flatMap((name): [string, string][] => {
    const value = credentials?.[name];
    return typeof value === "string" && value !== "" ? [[name, value]] : [];
  });
  return Object.fromEntries(texts);
}

/**
 * The drain of a broker of the platform may be anywhere; any other is judged as a broker of the app's space. So is one to another host than the broker
 * gave, since others than the platform may be able to edit the binding's Secret.
 */
function toNetwork(
  { binding, instance }: Pick<Candidate, "binding" | "instance">,
  address: DrainAddress,
  read: Reader,
): DrainNetwork {
  const { host } = address;
  const own = instance.metadata.namespace;
  const isOfBroker = instance.spec.type === "managed" && binding.status?.syslogDrainAddress === toHostAndPort(address);
  const namespace = isOfBroker ? binding.status?.provided?.brokerRef.namespace : own;
  const url = `https://${isIP(host) === 6 ? `[${host}]` : host}`;
  const rule = addressRuleOf(url, namespace ?? own, read);
  return { lookup: toLookup(rule), mayConnect: rule ?? (() => true) };
}
