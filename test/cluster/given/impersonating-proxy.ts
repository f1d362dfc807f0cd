// Gives a cluster that is not ours the users of a test: a token that only the test knows becomes impersonation by the given kubeconfig's user.
import { createServer, request as sendTLS, type RequestOptions } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { KubeConfig } from "@kubernetes/client-node";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";
import type { TokenUser } from "../control-plane-commands.ts";

export interface ImpersonatingProxy {
  url: string;
  /** PEM of the authority that signed its certificate. */
  ca: string;
  close(): Promise<void>;
}

const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";

/** @param adminToken acts as the kubeconfig's own user; the tokens of `users` as these. Other credentials are refused. */
export async function startImpersonatingProxy(
  config: KubeConfig,
  adminToken: string,
  users: readonly TokenUser[],
): Promise<ImpersonatingProxy> {
  const authority = await makeAuthority("given-cluster");
  const { cert, key } = await issueCertificate(authority, { commonName: "proxy", ipAddresses: ["127.0.0.1"] });
  const known = new Map(users.map((user) => [user.token, user]));
  const server = createServer({ cert, key }, (request, response) => {
    const token = /^bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const user = known.get(token);
    if (token !== adminToken && !user) return void response.writeHead(401).end();
    const handled =
      request.method === "POST" && request.url?.startsWith(TOKEN_REVIEWS)
        ? review({ config, adminToken, known }, request, response)
        : forward({ config, user }, request, response);
    handled.catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.cert,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Known {
  config: KubeConfig;
  adminToken: string;
  known: ReadonlyMap<string, TokenUser>;
}

/** The cluster does not know the tokens of the test. */
async function review(
  { config, adminToken, known }: Known,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await text(request);
  const asked = JSON.parse(body) as { spec: { token: string } };
  const user =
    asked.spec.token === adminToken ? { user: "admin", groups: ["system:masters"] } : known.get(asked.spec.token);
  if (!user) return forward({ config, body }, request, response);
  const groups = [...(user.groups ?? []), "system:authenticated"];
  const status = { authenticated: true, user: { username: user.user, groups } };
  response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ ...asked, status }));
}

interface Forwarded {
  config: KubeConfig;
  /** The user; the kubeconfig's own user unless said. */
  user?: TokenUser | undefined;
  /** Read part of the request. */
  body?: string;
}

async function forward(
  { config, user, body }: Forwarded,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { authorization: _theirs, host: _host, ...headers } = request.headers;
  const options: RequestOptions = { method: request.method, headers: {}, agent: false };
  await config.applyToHTTPSOptions(options);
  const groups = [...(user?.groups ?? []), "system:authenticated"];
  const impersonation = user && { "impersonate-user": user.user, "impersonate-group": groups };
  const upstream = sendTLS(
    new URL(request.url ?? "/", config.getCurrentCluster()?.server),
    { ...options, headers: { ...headers, ...(options.headers as object), ...impersonation } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    },
  );
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  if (body === undefined) request.pipe(upstream);
  else upstream.end(body);
}
