// The name of an AppPolicy, so that the same policy is the same object; the apps that it is about; how many an app may have. Pure.
import { hash } from "node:crypto";
import type { App } from "../app/app.ts";
import type { AppPolicy } from "./app-policy.ts";

export function appPolicyName({ source, destination, protocol, ports }: AppPolicy["spec"]): string {
  const parts = [source.namespace, source.app, destination.app, protocol, ports.start, ports.end];
  return `policy-${hash("sha256", parts.join("\0")).slice(0, 32)}`;
}

/** Policies with one app on the same side: with more, their NetworkPolicy might not fit into the API server's limits. Those beyond open nothing. */
export const MAX_POLICIES_OF_APP = 500;

/** Made by the CF API, where a policy ends with its apps. Others name apps, so a later app of the same name takes an old one's place. */
export function endsWithApps({ metadata, spec }: AppPolicy): boolean {
  return metadata.name === appPolicyName(spec);
}

/** The app may be on that side: it is the one that the policy was made for, or the policy goes by names. */
export function isMeant(
  policy: AppPolicy,
  side: "source" | "destination",
  { metadata }: Pick<App, "metadata">,
): boolean {
  const meant = policy.status?.[side === "source" ? "sourceUID" : "destinationUID"];
  return meant === undefined || meant === metadata.uid || !endsWithApps(policy);
}

/** The older of two first: a new policy takes no other's place. */
export function compareAge(one: AppPolicy, other: AppPolicy): number {
  const [a, b] = [one, other].map(
    ({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.namespace}/${metadata.name}`,
  ) as [string, string];
  return a < b ? -1 : Number(a > b);
}
