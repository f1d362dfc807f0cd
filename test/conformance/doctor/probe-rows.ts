// Rows of the doctor's test that need `--probe`: its pods run as processes of this machine, at a real registry.
import { BackendClass } from "../../../crds/backend-class/backend-class.ts";
import { SYSTEM_NAMESPACE } from "../../../crds/groups.ts";
import { Secret } from "../../../kube/api/builtin.ts";
import { failing } from "../blobs/fault-proxy.ts";
import { REGISTRY_USER } from "../../cluster/registry.ts";
import type { DoctorRow, DoctorWorld } from "./doctor-world.ts";

const PUSH_SECRET = { namespace: SYSTEM_NAMESPACE, name: "cupola-registry-push" };
const look = { probe: true };

export function probeRows(world: DoctorWorld): DoctorRow[] {
  const refuse = (method: string, path: RegExp, status: number): Promise<void> => {
    const body = JSON.stringify({ errors: [{ code: "UNSUPPORTED", message: "not here" }] });
    world.registry.proxy.decide = failing(method, path, { status, body }, Infinity);
    return Promise.resolve();
  };
  const allow = (): Promise<void> => {
    world.registry.proxy.decide = () => undefined;
    return Promise.resolve();
  };
  const login = ({ username, password }: { username: string; password: string }): Promise<unknown> => {
    const auth = Buffer.from(`${username}:${password}`).toString("base64");
    const text = JSON.stringify({ auths: { [world.registry.host]: { auth } } });
    const data = { ".dockerconfigjson": Buffer.from(text).toString("base64") };
    return world.admin.patch(Secret, PUSH_SECRET, { type: "merge", body: { data } });
  };
  const useBuilder = (builderImage: string): Promise<unknown> =>
    world.admin.patch(
      BackendClass,
      { name: "cnb" },
      { type: "merge", body: { spec: { parameters: { builderImage } } } },
    );

  return [
    {
      code: 401,
      fault: "the registry refuses the login",
      break: () => login({ ...REGISTRY_USER, password: "another" }),
      words: "the login failed",
      mend: () => login(REGISTRY_USER),
      look,
    },
    {
      code: 401,
      fault: "the login may not push",
      break: () => refuse("POST", /\/blobs\/uploads/, 403),
      words: "an upload failed",
      mend: allow,
      look,
    },
    {
      code: 401,
      fault: "the registry deletes nothing",
      break: () => refuse("DELETE", /\/manifests\//, 405),
      words: "a deletion failed",
      mend: allow,
      look,
    },
    {
      code: 402,
      fault: "the builder image is away",
      break: () => useBuilder(`${world.registry.host}/none:1`),
      words: "the builder image cannot be used",
      mend: () => useBuilder(world.registry.builderImage),
      look,
    },
    {
      code: 402,
      fault: "the builder image has a lifecycle of another time",
      break: () => useBuilder(world.registry.oldBuilderImage),
      words: "its lifecycle supports Platform API 0.3",
      mend: () => useBuilder(world.registry.builderImage),
      look,
    },
    {
      code: 602,
      fault: "the network enforces no NetworkPolicy",
      break: () => {
        world.pods.enforces = false;
        return Promise.resolve();
      },
      words: "does not enforce NetworkPolicies",
      mend: () => {
        world.pods.enforces = true;
        return Promise.resolve();
      },
      look,
    },
  ];
}
