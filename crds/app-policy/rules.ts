// The name of an AppPolicy, so that the same policy is the same object. Pure.
import { hash } from "node:crypto";
import type { AppPolicy } from "./app-policy.ts";

export function appPolicyName({ source, destination, protocol, ports }: AppPolicy["spec"]): string {
  const parts = [source.namespace, source.app, destination.app, protocol, ports.start, ports.end];
  return `policy-${hash("sha256", parts.join("\0")).slice(0, 32)}`;
}
