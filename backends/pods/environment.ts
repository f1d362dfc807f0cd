// The environment of an instance in a Pod: values of the downward API, ports, and the LRP's variables. Pure.
import type { LRP } from "../../crds/lrp/lrp.ts";

/** A variable of a container, in Kubernetes' form. */
export interface ContainerVariable {
  name: string;
  value?: string;
  valueFrom?:
    { fieldRef: { apiVersion?: string; fieldPath: string } } | { secretKeyRef: { name: string; key: string } };
}

/** Escapes text of a user: in values and commands Kubernetes expands $(NAME), and $$ to $ wherever it stands. */
export function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

const field = (name: string, fieldPath: string): ContainerVariable => ({
  name,
  valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } },
});

/** Ordered so that later variables may refer to earlier ones. No name appears twice; the runner's variables win. `indexLabel` is the pod's label with the index; a task has none. */
export function planEnvironment(
  spec: Pick<LRP["spec"], "env" | "ports" | "droplet">,
  indexLabel?: string,
): ContainerVariable[] {
  const own: ContainerVariable[] = [
    ...(indexLabel === undefined
      ? []
      : ["CF_INSTANCE_INDEX", "INSTANCE_INDEX"].map((name) => field(name, `metadata.labels['${indexLabel}']`))),
    field("CF_INSTANCE_GUID", "metadata.uid"),
    field("INSTANCE_GUID", "metadata.uid"),
    field("CF_INSTANCE_IP", "status.hostIP"),
    field("CF_INSTANCE_INTERNAL_IP", "status.podIP"),
    ...portVariables(spec),
  ];
  const taken = new Set(own.map((variable) => variable.name));
  return [...own, ...spec.env.filter((variable) => !taken.has(variable.name)).map(toVariable)];
}

function portVariables({ ports, droplet }: Pick<LRP["spec"], "ports" | "droplet">): ContainerVariable[] {
  const first = ports[0];
  const instance: ContainerVariable[] = [
    // The Pod has its own address, so its port is the same inside and outside.
    { name: "CF_INSTANCE_PORT", value: first === undefined ? "" : String(first) },
    { name: "CF_INSTANCE_ADDR", value: first === undefined ? "" : `$(CF_INSTANCE_INTERNAL_IP):${first}` },
    { name: "CF_INSTANCE_PORTS", value: JSON.stringify(ports.map((port) => ({ external: port, internal: port }))) },
  ];
  if (first === undefined) return instance;
  const buildpack = [
    { name: "VCAP_APP_HOST", value: "0.0.0.0" },
    { name: "VCAP_APP_PORT", value: String(first) },
  ];
  return [...instance, { name: "PORT", value: String(first) }, ...(droplet.kind === "docker" ? [] : buildpack)];
}

function toVariable(variable: LRP["spec"]["env"][number]): ContainerVariable {
  if (variable.valueFrom)
    return { name: variable.name, valueFrom: { secretKeyRef: { ...variable.valueFrom.secretKeyRef } } };
  return { name: variable.name, value: literal(variable.value ?? "") };
}
