// Renders the kubeconfig of a cluster that this program runs.
import { stringify } from "yaml";

/** Users by token or by client certificate (PEM). The first user is current. */
export interface KubeconfigInput {
  server: string;
  ca: string;
  users: ({ name: string } & ({ token: string } | { cert: string; key: string }))[];
}

/** A self-contained kubeconfig. Each user has a context of the same name. */
export function kubeconfigText({ server, ca, users }: KubeconfigInput): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: users.map((u) => ({
      name: u.name,
      user:
        "token" in u
          ? { token: u.token }
          : { "client-certificate-data": base64(u.cert), "client-key-data": base64(u.key) },
    })),
    contexts: users.map((u) => ({ name: u.name, context: { cluster: "cluster", user: u.name } })),
    "current-context": users[0]?.name ?? "",
  });
}
