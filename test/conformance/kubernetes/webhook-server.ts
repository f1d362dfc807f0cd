// A small TLS server that answers AdmissionReviews, for rows about webhooks: what it was asked, and whatever a row wants it to say.
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { issueCertificate, makeAuthority, type KeyPair } from "../../../kube/server/pki.ts";
import type { Json } from "./api.ts";

/** Answers the `request` of an AdmissionReview with its `response`, to which `uid` is added. A string is sent as it is, a number as a status code, undefined never. */
export type Respond = (request: Json) => Json;

export interface WebhookServer {
  /** For `clientConfig`. */
  clientConfig: { url: string; caBundle: string };
  /** The requests of the reviews so far. */
  requests: Json[];
  stop(): Promise<void>;
}

let identity: Promise<{ authority: KeyPair; server: KeyPair }> | undefined;

/** A single identity for all: making keys is the slow part. */
function identityOfServers(): Promise<{ authority: KeyPair; server: KeyPair }> {
  return (identity ??= (async () => {
    const authority = await makeAuthority("webhooks");
    return {
      authority,
      server: await issueCertificate(authority, { commonName: "webhook", ipAddresses: ["127.0.0.1"] }),
    };
  })());
}

export async function startWebhookServer(respond: Respond): Promise<WebhookServer> {
  const {
    authority,
    server: { cert, key },
  } = await identityOfServers();
  const asked: Json[] = [];
  const server: Server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as Json;
      asked.push(review.request);
      const answer = respond(review.request);
      if (answer === undefined) return;
      if (typeof answer === "number") response.writeHead(answer).end("broken");
      else
        response.writeHead(200, { "content-type": "application/json" }).end(
          typeof answer === "string"
            ? answer
            : JSON.stringify({
                kind: "AdmissionReview",
                apiVersion: "admission.k8s.io/v1",
                response: { uid: review.request.uid, ...answer },
              }),
        );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    clientConfig: {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/review`,
      caBundle: Buffer.from(authority.cert).toString("base64"),
    },
    requests: asked,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The response that changes an object. */
export const patchWith = (...operations: Json[]): Json => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});
