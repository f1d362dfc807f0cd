// Checks the certificate that this process serves for `/readyz`: clients and probes refuse an expired one, and nothing else here would notice.
import { X509Certificate } from "node:crypto";
import type { CheckResult } from "../../kube/server/readiness.ts";

/** The end is named so long before it, but only in the last fifth of a short-lived certificate. */
const NOTICE_MS = 7 * 86_400_000;
const NOTICE_SHARE = 0.2;

/** `cert` is PEM; its first certificate counts. Returns a check of its dates, which are read once. @throws Error when it is no certificate */
export function checkCertificate(cert: string): (now: Date) => CheckResult {
  const { validFrom, validTo } = new X509Certificate(cert);
  return (now) => presentValidity({ from: new Date(validFrom), to: new Date(validTo) }, now);
}

function presentValidity({ from, to }: { from: Date; to: Date }, now: Date): CheckResult {
  const next = "renew the Secret that --tls-cert is mounted from, then restart this process";
  if (now < from)
    return { degraded: `the certificate is valid from ${from.toISOString()} only: check the clock, or ${next}` };
  if (now >= to) return { degraded: `the certificate expired at ${to.toISOString()}, and clients refuse it: ${next}` };
  const notice = Math.min(NOTICE_MS, NOTICE_SHARE * (to.getTime() - from.getTime()));
  if (to.getTime() - now.getTime() < notice)
    return { degraded: `the certificate expires at ${to.toISOString()}: ${next}` };
  return true;
}
