// Checks 304 to 306: the webhook, certificates, and the names by which clients come.
import { nameFirst, type Check, type Found } from "../finding.ts";
import type { NameRow, Readings } from "../facts.ts";

const DAY_MS = 86_400_000;
const PROBLEM_DAYS = 14;
const NOTE_DAYS = 30;

const webhook: Check = {
  code: 304,
  title: "the webhook answers",
  severity: "problem",
  fault:
    "The ValidatingWebhookConfiguration `cupola` exists, but a dry run with a name that is taken is not refused by the webhook within 3 s, or API servers do not trust its certificate. Names are refused late then: by a condition of the object.",
  mend: "`kubectl delete secret cupola-webhook -n cupola-system` makes its certificates anew. If it stays silent: `kubectl logs -n cupola-system deploy/cupola-webhook`, and whether API servers reach the Service `cupola-webhook`.",
  judge(read) {
    const found = read.webhook();
    const where = ["ValidatingWebhookConfiguration cupola"];
    if (found && !found.isTrusted)
      return [
        {
          what: "the webhook's registration does not trust the authority of the Secret cupola-webhook",
          where,
          next: "kubectl delete secret cupola-webhook -n cupola-system makes its certificates anew",
        },
      ];
    if (found && !found.isAnswering)
      return [
        {
          what: "the webhook does not answer: names that are taken are refused late",
          where,
          next: "kubectl delete secret cupola-webhook -n cupola-system makes its certificates anew; kubectl logs -n cupola-system deploy/cupola-webhook",
        },
      ];
    return [];
  },
};

const certificates: Check = {
  code: 305,
  title: "certificates are valid",
  severity: "problem",
  fault: `Clients refuse the certificate at the API's public address, for its name, its authority or its end; or a certificate in a Secret of the chart has ended or ends in less than ${PROBLEM_DAYS} days. From ${NOTE_DAYS} days on it is a note. An authority of your own is known to this command by this machine's store, by \`NODE_EXTRA_CA_CERTS\`, or by \`ca.crt\` of the Secret.`,
  mend: "Renew the Secret that the finding names. One that the chart made: delete it, run `helm upgrade cupola`, and restart the Deployment.",
  judge: (read) => [...judgeHandshake(read), ...judgeSecrets(read)],
};

function judgeHandshake(read: Readings): Found[] {
  const handshake = read.handshake();
  if (!handshake) return [];
  const { host, problem, endsAt } = handshake;
  const next = "renew the Secret of api.tls.secretName, or of the Ingress that serves this name";
  if (problem !== undefined)
    return [{ what: `clients refuse the certificate of ${host}: ${problem}`, where: [host], next }];
  // A Secret of the chart that ends is named by its own name.
  if (read.certificates().some((row) => row.endsAt === endsAt)) return [];
  return judgeEnd(read.now(), endsAt, { what: `the certificate of ${host}`, where: [host], next });
}

function judgeSecrets(read: Readings): Found[] {
  return read.certificates().flatMap(({ secret, endsAt }): Found[] => {
    const [namespace = "", name = ""] = secret.split("/");
    const where = [`Secret ${secret}`];
    const next = `renew the Secret ${name}; one of the chart: kubectl delete secret -n ${namespace} ${name}, helm upgrade cupola, and restart what uses it`;
    if (endsAt === undefined) return [{ what: `the Secret ${name} has no certificate in tls.crt`, where, next }];
    return judgeEnd(read.now(), endsAt, { what: `the certificate of Secret ${name}`, where, next });
  });
}

function judgeEnd(now: number, endsAt: number, found: Found): Found[] {
  const days = Math.floor((endsAt - now) / DAY_MS);
  if (days >= NOTE_DAYS) return [];
  const severity = days >= PROBLEM_DAYS ? "note" : "problem";
  const ends = endsAt <= now ? "has ended" : `ends in ${days} days`;
  return [{ ...found, severity, what: `${found.what} ${ends}` }];
}

const names: Check = {
  code: 306,
  title: "names lead to the platform",
  severity: "problem",
  fault:
    "By this machine's resolver the API's name, or a random name below the domain of apps, leads nowhere, or to none of the addresses that the API's Service or Ingress, or the routers' Ingresses and Gateway, have. Where the cluster gives no address, only whether the name leads anywhere is looked at.",
  mend: "Change the DNS record. The domain of apps needs a wildcard record.",
  judge: (read) => read.names().flatMap(judgeName),
};

function judgeName({ name, leadsTo, expected }: NameRow): Found[] {
  if (leadsTo.length > 0 && (!expected || leadsTo.some((address) => expected.includes(address)))) return [];
  const to = leadsTo.length === 0 ? "nowhere" : `to ${nameFirst(leadsTo).join(", ")}`;
  const not = expected ? `, not to ${nameFirst(expected).join(", ")}` : "";
  return [{ what: `${name} leads ${to}${not}`, where: [name], next: "change its DNS record" }];
}

export const addressChecks: readonly Check[] = [webhook, certificates, names];
