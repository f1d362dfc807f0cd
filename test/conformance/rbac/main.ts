// `npm run rbac-diff -- --seed N --cases N`: our RBAC evaluator against SubjectAccessReview of a real kube-apiserver. Ends in `differences: N`.
import { Command, InvalidArgumentError } from "commander";
import { pino } from "pino";
import { createClient } from "../../../kube/client/create-client.ts";
import { startControlPlane } from "../../cluster/control-plane.ts";
import { startEmbedded } from "../embedded-server.ts";
import { runRbacDiff } from "./rbac-diff.ts";

function whole(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new InvalidArgumentError("a whole number, 0 or more");
  return number;
}

const { seed, cases } = new Command("rbac-diff")
  .description("Compares the API's RBAC evaluator, and the embedded API server, with a real kube-apiserver.")
  .option("--seed <n>", "which policies and questions", whole, 1)
  .option("--cases <n>", "how many questions", whole, 100_000)
  .parse()
  .opts<{ seed: number; cases: number }>();

const [real, embedded] = await Promise.all([startControlPlane(), startEmbedded()]);
const clients = [real, embedded].map(({ url, ca, adminToken }) =>
  createClient({ server: url, ca, auth: { kind: "token", token: adminToken } }),
);
try {
  const [judge, other] = clients;
  if (!judge || !other) throw new Error("two servers were to be started");
  const started = performance.now();
  let told = started;
  const { asked, allowed, differences } = await runRbacDiff({
    seed,
    cases,
    authorizers: [
      { name: "kube-apiserver", client: judge },
      { name: "embedded", client: other },
    ],
    log: pino({ level: "silent" }),
    onProgress: (done) => {
      if (performance.now() - told < 5000) return;
      told = performance.now();
      console.log(`${done} of ${cases}`);
    },
  });
  const seconds = (performance.now() - started) / 1000;
  for (const one of differences.slice(0, 10)) console.log(JSON.stringify(one));
  console.log(
    `seed ${seed}: ${asked} cases in ${seconds.toFixed(1)} s (${Math.round(asked / seconds)}/s), ${allowed} of them allowed`,
  );
  console.log(`differences: ${differences.length}`);
  process.exitCode = differences.length > 0 ? 1 : 0;
} finally {
  for (const client of clients) await client.close();
  await Promise.all([real.stop(), embedded.stop()]);
}
