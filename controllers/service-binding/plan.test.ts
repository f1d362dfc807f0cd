// The next step of a binding of a managed instance.
import { expect, test } from "vitest";
import type { ServiceBinding } from "../../crds/service-binding/service-binding.ts";
import type { ServiceInstance } from "../../crds/service-instance/service-instance.ts";
import type { ProvidedPlan } from "../shared/osb/provided-plan.ts";
import { planBinding, planRenewal, planRenewalEvent, planSharing } from "./plan.ts";

const operation = (type: string, state: string): object => ({ lastOperation: { type, state, description: "words" } });
const ready = operation("create", "succeeded");

type Bindable = boolean | "volumes";

test.each<[string, object, object, Bindable, object]>([
  ["of a ready instance", {}, ready, true, { kind: "begin" }],
  ["of an instance whose update failed", {}, operation("update", "failed"), true, { kind: "begin" }],
  [
    "of an instance that is being made",
    {},
    operation("create", "initial"),
    true,
    { ready: { reason: "InstanceNotReady" } },
  ],
  [
    "of an instance under update",
    {},
    operation("update", "in progress"),
    true,
    { ready: { reason: "InstanceNotReady" } },
  ],
  ["of one that was not made", {}, operation("create", "failed"), true, { ready: { reason: "InstanceFailed" } }],
  ["of a plan without bindings", {}, ready, false, { ready: { reason: "NotBindable" } }],
  [
    "while an update waits for the broker",
    {},
    { ...operation("update", "initial"), operation: { attempts: 1 } },
    true,
    { kind: "begin" },
  ],
  ["of a plan with volumes", {}, ready, "volumes", { ready: { reason: "VolumesDisabled" } }],
  ["begun", operation("create", "initial"), ready, true, { kind: "bind" }],
  ["accepted", operation("create", "in progress"), ready, true, { kind: "poll" }],
  ["bound", operation("create", "succeeded"), ready, true, { kind: "rest" }],
  ["bound, of a plan that no longer allows it", operation("create", "succeeded"), ready, false, { kind: "rest" }],
  ["failed", operation("create", "failed"), ready, true, { kind: "rest", ready: { reason: "ProvisionFailed" } }],
  ["unclear", { ...operation("create", "failed"), operation: { isOrphan: true } }, ready, true, { kind: "mitigate" }],
])("%s", (...[, status, instanceStatus, isBindable, step]) => {
  const binding = { metadata: { name: "b" }, spec: { type: "app" }, status } as unknown as ServiceBinding;
  const instance = { metadata: { name: "i" }, spec: {}, status: instanceStatus } as unknown as ServiceInstance;
  const requires = isBindable === "volumes" ? ["volume_mount"] : [];
  const provided = {
    plan: { spec: { bindable: isBindable !== false } },
    offering: { spec: { requires } },
    mountsVolumes: false,
  } as unknown as Parameters<typeof planBinding>[2];
  expect(planBinding(binding, instance, provided)).toMatchObject(step);
  if (isBindable === "volumes")
    expect(planBinding(binding, instance, { ...provided, mountsVolumes: true })).toMatchObject({ kind: "begin" });
});

test("a new binding of an instance that is being deleted asks the broker for nothing", () => {
  const binding = { metadata: { name: "b" }, spec: { type: "app" } } as unknown as ServiceBinding;
  const metadata = { name: "i", deletionTimestamp: "2026-01-01T00:00:00Z" };
  const instance = { metadata, spec: {}, status: ready } as unknown as ServiceInstance;
  const provided = { plan: { spec: {} }, offering: { spec: { requires: [] } } } as unknown as ProvidedPlan;
  expect(planBinding(binding, instance, { ...provided, mountsVolumes: false })).toMatchObject({
    kind: "rest",
    ready: { reason: "InstanceMissing" },
  });
});

test.each<[string, string, boolean, string, string | undefined]>([
  ["in its own space", "home", false, "admin", undefined],
  ["of a shareable offering and a plan for all", "guest", true, "public", undefined],
  ["of an offering that is not shareable", "guest", false, "public", "NotShareable"],
  ["of a plan that is not visible there", "guest", true, "admin", "NotShareable"],
])("a binding %s", (...[, namespace, shareable, type, reason]) => {
  const bound = {
    binding: { metadata: { name: "b", namespace }, spec: { instanceRef: { name: "i", namespace: "home" } } },
    plan: { metadata: { namespace: "cupola-system" }, spec: { visibility: { type } } },
    offering: { spec: { shareable } },
  } as unknown as Parameters<typeof planSharing>[0];
  expect(planSharing(bound, { namespace, org: "guests" })?.reason).toBe(reason);
});

test.each<[string, string, string | undefined, string | undefined]>([
  ["good", "2026-01-01T00:00:00Z", undefined, undefined],
  ["newly due", "2026-01-02T00:00:01Z", "NotDue", "RenewalDue"],
  ["due for long", "2026-01-02T12:00:00Z", "Due", undefined],
  ["newly at their end", "2026-01-03T00:00:01Z", "Due", "RenewalExpired"],
])("people are warned of credentials that are %s", (_what, now, before, warned) => {
  const binding = {
    spec: { type: "app" },
    status: {
      renewBefore: "2026-01-02T00:00:00Z",
      expiresAt: "2026-01-03T00:00:00Z",
      conditions: before === undefined ? [] : [{ type: "RenewalDue", reason: before }],
    },
  } as unknown as ServiceBinding;
  const event = planRenewalEvent(binding, planRenewal(binding, new Date(now)));
  expect(event?.reason).toBe(warned);
  if (event) expect([event.type, event.message]).toEqual(["Warning", expect.stringContaining("--strategy multiple")]);
});
