// Rotation of webhook certificates over years of simulated time.
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  caBundleOf,
  parseSecretData,
  DEFAULT_CERTIFICATE_LIFETIMES,
  planRotation,
  applyRotationStep,
  toSecretData,
  type WebhookCertificates,
} from "./webhook-certificates.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-01-01T00:00:00Z");
const hosts = ["webhook.system.svc", "127.0.0.1", "::1"];
const at = (ms: number, held?: WebhookCertificates) => ({
  now: new Date(ms),
  hosts,
  trustedBundle: held ? caBundleOf(held) : "",
  lifetimes: DEFAULT_CERTIFICATE_LIFETIMES,
});

async function made(): Promise<WebhookCertificates> {
  return applyRotationStep("create", undefined, at(START), "webhook");
}

const isSignedBy = (cert: string, by: string): boolean =>
  new X509Certificate(cert).verify(new X509Certificate(by).publicKey);

describe("webhook certificates", () => {
  test("are created when missing, unreadable or when the authority has expired", async () => {
    const held = await made();
    expect(planRotation(undefined, at(START))).toEqual({ step: "create" });
    expect(parseSecretData({ ...toSecretData(held), "tls.key": "bm9uc2Vuc2U=" })).toBeUndefined();
    expect(parseSecretData({})).toBeUndefined();
    expect(planRotation(held, at(START + 400 * DAY, held))).toEqual({ step: "create" });
  });

  test("survive writing and parsing", async () => {
    const held = {
      ...(await made()),
      next: (await made()).authority,
      previous: { cert: (await made()).authority.cert },
    };
    expect(parseSecretData(toSecretData(held))).toEqual(held);
  });

  test("cover every host, and are renewed for an additional one", async () => {
    const held = await made();
    expect(planRotation(held, at(START, held))).toMatchObject({ step: undefined });
    const more = { ...at(START, held), hosts: ["10.0.0.7"] };
    expect(planRotation(held, more)).toEqual({ step: "renew" });
    const renewed = await applyRotationStep("renew", held, more, "webhook");
    expect([planRotation(renewed, more), planRotation(renewed, at(START, held))]).toMatchObject([
      { step: undefined },
      { step: undefined },
    ]);
  });

  test("over 18 months every served certificate is valid and was trusted long enough before", async () => {
    let held = await made();
    let trusted = caBundleOf(held);
    const steps: string[] = [];
    for (let now = START; now < START + 550 * DAY; now += DAY) {
      const plan = planRotation(held, { ...at(now), trustedBundle: trusted });
      if (plan.step) {
        held = await applyRotationStep(plan.step, held, at(now), "webhook");
        steps.push(plan.step);
      }
      // A client with yesterday's bundle trusts the served certificate.
      const authorities = trusted.split(/(?<=-----END CERTIFICATE-----\n)/);
      expect(
        authorities.some(
          (authority) =>
            isSignedBy(held.serving.cert, authority) && new X509Certificate(authority).validToDate.getTime() > now,
        ),
      ).toBe(true);
      expect(new X509Certificate(held.serving.cert).validToDate.getTime()).toBeGreaterThan(now + 29 * DAY);
      trusted = caBundleOf(held);
    }
    expect(steps.filter((step) => step !== "renew")).toEqual(["prepare", "promote", "forget", "prepare", "promote"]);
    expect(steps.filter((step) => step === "renew").length).toBeGreaterThan(3);
  });

  test("a new authority does not sign before the configuration trusts it", async () => {
    const held = await made();
    const late = START + 300 * DAY;
    const prepared = await applyRotationStep(
      "prepare",
      { ...held, serving: (await applyRotationStep("renew", held, at(late), "webhook")).serving },
      at(late),
      "webhook",
    );
    expect(planRotation(prepared, { ...at(late + DAY), trustedBundle: held.authority.cert })).toMatchObject({
      step: undefined,
    });
    expect(planRotation(prepared, at(late, prepared))).toMatchObject({
      step: undefined,
      waitMs: DEFAULT_CERTIFICATE_LIFETIMES.trustDelayMs,
    });
    expect(planRotation(prepared, at(late + DAY, prepared))).toEqual({ step: "promote" });
  });
});
