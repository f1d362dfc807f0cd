// The golden objects of the class, and the IngressClass that it takes.
import { describe, expect, test } from "vitest";
import type { IngressClass } from "../../../kube/api/builtin.ts";
import type { ObjectOf } from "../../../kube/api/resource-ref.ts";
import { aBinding, aDestination, anotherDestination, toYAML } from "../services/testing/fixtures.ts";
import { planServices } from "../services/plan.ts";
import { chooseIngressClass, planIngress } from "./plan.ts";

describe("a RouteBinding as an Ingress", () => {
  test("one destination", async () => {
    const binding = aBinding("ingress");
    await expect(toYAML([...planServices(binding), ...planIngress(binding, "nginx")])).toMatchFileSnapshot(
      "route.golden.yaml",
    );
  });

  test.each<[string, object, number]>([
    ["a TCP route", { port: 1234 }, 0],
    ["an internal route", { internal: true }, 0],
    ["a second destination", { destinations: [aDestination, anotherDestination] }, 1],
    ["a route to nothing", { destinations: [] }, 0],
    ["a wildcard", { hostname: "*.apps.example" }, 1],
  ])("%s", (_what, change, count) => {
    expect(planIngress(aBinding("ingress", change), "nginx")).toHaveLength(count);
  });
});

test("a route with a route service leads to the proxy", () => {
  const [ingress] = planIngress(aBinding("ingress", { routeService: { url: "https://guard.test" } }), "nginx");
  expect(ingress).toMatchObject({
    spec: {
      rules: [{ http: { paths: [{ backend: { service: { name: "cupola-route-service", port: { number: 80 } } } }] } }],
    },
  });
});

describe("the IngressClass", () => {
  const anIngressClass = (name: string, made: string, isDefault: boolean): ObjectOf<typeof IngressClass> => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: {
      name,
      creationTimestamp: `2026-01-01T00:00:0${made}Z`,
      ...(isDefault && { annotations: { "ingressclass.kubernetes.io/is-default-class": "true" } }),
    },
  });
  const [nginx, traefik, other] = [
    anIngressClass("nginx", "1", false),
    anIngressClass("traefik", "2", true),
    anIngressClass("other", "3", true),
  ];

  test("is the one that the parameters name, else the cluster's youngest default", () => {
    expect(chooseIngressClass({ ingressClassName: "nginx" }, [nginx, traefik])).toEqual({ name: "nginx" });
    expect(chooseIngressClass({}, [nginx, traefik])).toEqual({ name: "traefik" });
    expect(chooseIngressClass({}, [traefik, other])).toEqual({ name: "other" });
    expect(chooseIngressClass({}, [other, traefik])).toEqual({ name: "other" });
  });

  test("is a problem with a next step when there is none", () => {
    expect(chooseIngressClass({}, [nginx])).toMatchObject({
      problem: {
        status: "False",
        reason: "IngressClassMissing",
        message: expect.stringContaining("set parameters") as string,
      },
    });
    expect(chooseIngressClass({ ingressClassName: "haproxy" }, [nginx])).toMatchObject({
      problem: { reason: "IngressClassMissing", message: expect.stringContaining("it has: nginx") as string },
    });
  });
});
