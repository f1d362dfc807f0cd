// Parts of the chart that values switch on: what runs, under which rights, and where it is reached.
import { describe, expect, test } from "vitest";
import { whyNoBinaries } from "../../cluster/binaries.ts";
import { addedTo, CHART, deploymentNamed, operationsOf, rulesOf, useChart, VALUES, type Rendered } from "./chart.ts";

const reason = whyNoBinaries(["helm"]);
if (reason) console.log(`the parts of the chart: skipped, ${reason}`);

describe.skipIf(reason)("the chart", () => {
  const { helm, render } = useChart();

  test("the SSH proxy runs, is reached, and is bound in spaces where the values say so, and the API names it", async () => {
    const api = { ...VALUES.api, tokenLogin: { hosts: ["login.example.org"] } };
    const without = await render({ ...VALUES, api });
    const objects = await render({ ...VALUES, api, ssh: { enabled: true } });
    expect(addedTo(without, objects)).toEqual([
      "ClusterRole cupola-ssh-proxy",
      "ClusterRole cupola-ssh-proxy-exec",
      "ClusterRoleBinding cupola-ssh-proxy.ssh-proxy",
      "Deployment cupola-ssh-proxy",
      "PodDisruptionBudget cupola-ssh-proxy",
      "Role cupola-ssh-proxy",
      "RoleBinding cupola-ssh-proxy.ssh-proxy",
      "Service cupola-ssh",
      "ServiceAccount cupola-ssh-proxy",
    ]);
    const args = (name: string): string[] | undefined => deploymentNamed(objects, name)?.containers[0]?.args;
    expect(args("cupola-api")).toContain("--ssh-address=api.example.org:2222");
    expect(args("cupola-ssh-proxy")).toContain("--ssh-listen=0.0.0.0:2222");
    const binding = objects.find(
      ({ kind, metadata }) => kind === "RoleBinding" && metadata.name.includes("ssh-proxy"),
    ) as Rendered & { metadata: { labels: Record<string, string> } };
    expect(binding.metadata.labels["cupola.dev/space-role"]).toBe("cupola-ssh-proxy-exec");
    expect(await render({ ...VALUES, ssh: null })).not.toEqual([]);
  });

  test("names of internal domains are served where the values say so, at the address that they name", async () => {
    const without = await render(VALUES);
    const routers = { "internal-dns": { enabled: true, clusterIP: "10.96.0.53" } };
    const objects = await render({ ...VALUES, routers });
    expect(addedTo(without, objects)).toEqual([
      "ClusterRole cupola-internal-dns",
      "ClusterRoleBinding cupola-internal-dns.internal-dns",
      "Deployment cupola-internal-dns",
      "PodDisruptionBudget cupola-internal-dns",
      "Role cupola-internal-dns",
      "RoleBinding cupola-internal-dns.internal-dns",
      "Service cupola-internal-dns",
      "ServiceAccount cupola-internal-dns",
    ]);
    expect(deploymentNamed(objects, "cupola-internal-dns")?.containers[0]?.args).toContain(
      "--internal-dns-listen=0.0.0.0:5353",
    );
    expect(JSON.stringify(objects.filter(({ kind }) => kind === "Service"))).toContain('"clusterIP":"10.96.0.53"');
    expect(JSON.stringify(objects.filter(({ kind }) => kind === "ConfigMap"))).toContain("{ name: internal-dns }");
    const spoke = JSON.stringify(await render({ ...VALUES, mode: "spoke", routers }));
    expect(spoke).not.toContain("name: internal-dns");
    expect(spoke).not.toContain("cupola-internal-dns");
  });

  test("DNS records are written where the values say so, on a hub, with the addresses of its routers", async () => {
    const routers = { ingress: { enabled: true, addresses: ["192.0.2.7", "2001:db8::7"] } };
    const roleOf = (objects: Rendered[]): unknown => rulesOf(objects, "ClusterRole", "dns-records");
    const objects = await render({ ...VALUES, routers, dnsRecords: { enabled: true } });
    expect(objects.filter(({ kind }) => kind === "Deployment").flatMap(operationsOf)).toContain("dns-records");
    expect(JSON.stringify(roleOf(objects))).toContain("dnsendpoints");
    expect(JSON.stringify(objects)).toContain("addresses: 192.0.2.7,2001:db8::7");
    expect(roleOf(await render({ ...VALUES, dnsRecords: null }))).toBeUndefined();
    expect(roleOf(await render({ ...VALUES, mode: "spoke", dnsRecords: { enabled: true } }))).toBeUndefined();
  });

  test("the proxy of route services runs, is reached and trusts authorities where the values say so", async () => {
    const without = await render(VALUES);
    const objects = await render({ ...VALUES, routeServices: { enabled: true, caSecretName: "company" } });
    expect(addedTo(without, objects)).toEqual([
      "ClusterRole cupola-route-service",
      "ClusterRoleBinding cupola-route-service.route-service",
      "Deployment cupola-route-service",
      "PodDisruptionBudget cupola-route-service",
      "Role cupola-route-service",
      "RoleBinding cupola-route-service.route-service",
      "Service cupola-route-service",
      "ServiceAccount cupola-route-service",
    ]);
    const pod = deploymentNamed(objects, "cupola-route-service");
    expect(pod?.containers[0]).toMatchObject({
      args: expect.arrayContaining(["--route-service-listen=0.0.0.0:8080"]) as unknown,
      env: expect.arrayContaining([
        { name: "NODE_EXTRA_CA_CERTS", value: "/etc/cupola/authorities/ca.crt" },
      ]) as unknown,
    });
    expect(pod?.volumes).toContainEqual({
      name: "authorities",
      secret: { secretName: "company", items: [{ key: "ca.crt", path: "ca.crt" }] },
    });
    expect(addedTo(without, await render({ ...VALUES, routeServices: null }))).toEqual([]);
  });

  test("a spoke lets its hub keep bundles in the namespaces that the values name, and in no reserved one", async () => {
    const bindings = async (hub: object | null): Promise<string[]> =>
      (await render({ ...VALUES, mode: "spoke", hub }))
        .filter(({ kind, metadata }) => kind === "RoleBinding" && metadata.name === "cupola-hub-bundles")
        .map(({ metadata }) => (metadata as { namespace?: string }).namespace ?? "");
    const namespaces = ["monitoring", "base"];
    expect(await bindings({ bundles: { namespaces } })).toEqual(namespaces);
    expect(await bindings(null)).toEqual([]);
    const reserved = { ...VALUES, mode: "spoke", hub: { bundles: { namespaces: ["kube-system"] } } };
    expect((await helm(["template", "cupola", CHART], reserved)).output).toContain("no bundles in kube-system");
  });
});
