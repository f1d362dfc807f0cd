// Router groups of classes, and their free ports.
import { expect, test } from "vitest";
import { aRunner } from "../testing/objects.ts";
import { findFreePort, findRouterGroup, hasPort, listRouterGroups } from "./router-group.ts";

const withPorts = (tcpPorts: string, name = "r"): ReturnType<typeof aRunner> => {
  const router = aRunner();
  return {
    ...router,
    metadata: { ...router.metadata, name },
    spec: { ...router.spec, role: "router", parameters: { tcpPorts } },
  };
};

test("a class with ports is a group, by its own name or another", () => {
  const group = findRouterGroup(withPorts("1024-1026, 2000"));
  expect(group).toMatchObject({ name: "r", className: "r", ports: "1024-1026,2000" });
  expect([1023, 1024, 1026, 1027, 2000].map((port) => hasPort(group!, port))).toEqual([false, true, true, false, true]);
  const named = withPorts("1024");
  named.spec.parameters = { tcpPorts: "1024", tcpGroup: "default-tcp" };
  expect(findRouterGroup(named)).toMatchObject({ name: "default-tcp", guid: group!.guid });
  expect(listRouterGroups([withPorts("1", "b"), withPorts("2", "a")]).map(({ name }) => name)).toEqual(["a", "b"]);
});

test.each(["", "0", "70000", "20-10", "1024;", "1-2-3", "a"])("%j are no ports", (ports) => {
  expect(findRouterGroup(withPorts(ports))).toBeUndefined();
});

test("a free port is one of those that nobody has", () => {
  const group = findRouterGroup(withPorts("5-6,8"))!;
  expect([0, 0.5, 0.99].map((random) => findFreePort(group, new Set([6]), random))).toEqual([5, 8, 8]);
  expect(findFreePort(group, new Set([5, 6, 8]), 0)).toBeUndefined();
});
