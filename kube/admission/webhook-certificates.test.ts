// When which certificate of a webhook is made anew, over years of a clock that is an argument.
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { bundleOf, fromSecretData, PERIODS, planCertificates, takeStep, toSecretData, type Certificates } from "./webhook-certificates.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-01-01T00:00:00Z");
const hosts = ["webhook.system.svc", "127.0.0.1", "::1"];
const at = (ms: number, held?: Certificates) => ({ now: new Date(ms), hosts, trusted: held ? bundleOf(held) : "", periods: PERIODS });

async function made(): Promise<Certificates> {
  return takeStep("begin", undefined, at(START), "webhook");
}

const isSignedBy = (cert: string, by: string): boolean => new X509Certificate(cert).verify(new X509Certificate(by).publicKey);

describe("a webhook's certificates", () => {
  test("are made when there are none, when they cannot be read, and when the authority has ended", async () => {
    const held = await made();
    expect(planCertificates(undefined, at(START))).toEqual({ step: "begin" });
    expect(fromSecretData({ ...toSecretData(held), "tls.key": "bm9uc2Vuc2U=" })).toBeUndefined();
    expect(fromSecretData({})).toBeUndefined();
    expect(planCertificates(held, at(START + 400 * DAY, held))).toEqual({ step: "begin" });
  });

  test("are read as they were written", async () => {
    const held = { ...(await made()), next: (await made()).authority, previous: { cert: (await made()).authority.cert } };
    expect(fromSecretData(toSecretData(held))).toEqual(held);
  });

  test("are good for every host, and are renewed for another one beside those", async () => {
    const held = await made();
    expect(planCertificates(held, at(START, held))).toMatchObject({ step: undefined });
    const more = { ...at(START, held), hosts: ["10.0.0.7"] };
    expect(planCertificates(held, more)).toEqual({ step: "renew" });
    const renewed = await takeStep("renew", held, more, "webhook");
    expect([planCertificates(renewed, more), planCertificates(renewed, at(START, held))]).toMatchObject([{ step: undefined }, { step: undefined }]);
  });

  test("a year and a half: nobody is ever served with what was not trusted long enough, and nothing served has ended", async () => {
    let held = await made();
    let trusted = bundleOf(held);
    const steps: string[] = [];
    for (let now = START; now < START + 550 * DAY; now += DAY) {
      const plan = planCertificates(held, { ...at(now), trusted });
      if (plan.step) {
        held = await takeStep(plan.step, held, at(now), "webhook");
        steps.push(plan.step);
      }
      // What is served now is trusted by one who has the bundle of a day ago.
      const authorities = trusted.split(/(?<=-----END CERTIFICATE-----\n)/);
      expect(authorities.some((authority) => isSignedBy(held.serving.cert, authority) && new X509Certificate(authority).validToDate.getTime() > now)).toBe(true);
      expect(new X509Certificate(held.serving.cert).validToDate.getTime()).toBeGreaterThan(now + 29 * DAY);
      trusted = bundleOf(held);
    }
    expect(steps.filter((step) => step !== "renew")).toEqual(["prepare", "promote", "forget", "prepare", "promote"]);
    expect(steps.filter((step) => step === "renew").length).toBeGreaterThan(3);
  });

  test("a new authority does not sign before it is trusted, however long that takes", async () => {
    const held = await made();
    const late = START + 300 * DAY;
    const prepared = await takeStep("prepare", { ...held, serving: (await takeStep("renew", held, at(late), "webhook")).serving }, at(late), "webhook");
    expect(planCertificates(prepared, { ...at(late + DAY), trusted: held.authority.cert })).toMatchObject({ step: undefined });
    expect(planCertificates(prepared, at(late, prepared))).toMatchObject({ step: undefined, waitMs: PERIODS.settleMs });
    expect(planCertificates(prepared, at(late + DAY, prepared))).toEqual({ step: "promote" });
  });
});
