// Permitted answers to a bind request, by the offering's `requires`, and bindings that a broker makes by itself.
import { expect, test } from "vitest";
import type { ServiceOffering } from "../../crds/service-offering/service-offering.ts";
import type { BrokerAnswer } from "../shared/osb/call-broker.ts";
import { toBindOutcome, toContent, toFetchOutcome } from "./binding-answer.ts";

const answer = (status: number, body?: Record<string, unknown>): BrokerAnswer => ({ kind: "answer", status, body });
const offering = (requires: string[] = [], bindingsRetrievable = true, type: "app" | "key" = "app") => ({
  offering: { spec: { requires, bindingsRetrievable } } as unknown as ServiceOffering,
  type,
});
const credentials = { user: "u" };
const drain = { credentials, syslog_drain_url: "syslog://h" };
const mounts = { credentials, volume_mounts: [{ driver: "nfs" }] };
const claim = {
  driver: "persistentvolumeclaim",
  container_dir: "/data",
  mode: "r",
  device_type: "shared",
  device: { volume_id: "models", mount_config: {} },
};
const route = { credentials, route_service_url: "https://h" };

test.each<[string, Record<string, unknown>, string[], string | RegExp]>([
  ["credentials", { credentials }, [], "done"],
  ["nothing", {}, [], "done"],
  ["a drain of a logging service", drain, ["syslog_drain"], "done"],
  ["a drain of no logging service", drain, [], /not registered as a logging service/],
  ["volumes of no volume service", mounts, [], /not registered as a volume mount service/],
  ["volumes of a driver that is not here", mounts, ["volume_mount"], /of a volume is not as the Open Service/],
  ["a claim", { volume_mounts: [claim] }, ["volume_mount"], "done"],
  [
    "empty and null members",
    { ...drain, syslog_drain_url: "", volume_mounts: [], route_service_url: null },
    [],
    "done",
  ],
  ["a route service without TLS", { route_service_url: "http://h" }, ["route_forwarding"], /no https address/],
  ["credentials that are a list", { credentials: [] }, [], /credentials to be a valid JSON object/],
])("a binding with %s", (_, body, requires, expected) => {
  for (const outcome of [
    toBindOutcome(answer(201, body), offering(requires)),
    toFetchOutcome(answer(200, body), offering(requires)),
  ])
    if (expected === "done") expect(outcome.kind).toBe("done");
    else expect(outcome).toMatchObject({ kind: "unclear", why: expect.stringMatching(expected) as string });
});

test("a key of a volume service has its credentials", () => {
  expect(toBindOutcome(answer(201, mounts), offering(["volume_mount"], true, "key")).kind).toBe("done");
  expect(toContent(mounts, offering())).toEqual({ credentials });
});

test("volumes are kept as the broker gave them", () => {
  expect(toContent({ volume_mounts: [claim] }, offering(["volume_mount"]))).toEqual({
    credentials: {},
    volumeMounts: [claim],
  });
});

test("a broker that goes on by itself must tell the binding afterwards", () => {
  expect(toBindOutcome(answer(202, {}), offering()).kind).toBe("accepted");
  expect(toBindOutcome(answer(202, {}), offering([], false))).toMatchObject({
    kind: "unclear",
    why: "The service binding is invalid: The broker responded asynchronously but does not support fetching binding data",
  });
});

test.each<[BrokerAnswer, string]>([
  [answer(404), "unclear"],
  [answer(400), "unclear"],
  [answer(200), "unclear"],
  [answer(500), "later"],
  [answer(429), "later"],
  [{ kind: "unreachable", why: "x" }, "later"],
  [{ kind: "lost", why: "x" }, "later"],
])("a binding that is not told: %o", (given, kind) => {
  expect(toFetchOutcome(given, offering()).kind).toBe(kind);
});

test("a route service is kept where the offering requires it", () => {
  expect(toContent(route, offering(["route_forwarding"]))).toEqual({ credentials, routeServiceURL: "https://h" });
  expect(toContent(route, offering())).toEqual({ credentials });
});
