// The line between one replica and its Kubernetes API, for journeys that must stop it at a chosen moment: requests that never arrive, watches that fall silent.
import { Agent, createServer, request as send } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { issueCertificate, makeAuthority } from "../../../kube/server/pki.ts";

export interface HoldingProxy {
  /** As for a kubeconfig. */
  server: { url: string; ca: string };
  /** Requests that fit are held here from now on; resolves with the first one's path. */
  hold(fits: (method: string, path: string) => boolean): Promise<string>;
  /** Requests that come from now on pass. */
  release(): void;
  /** From now on nothing comes on the watches that are open; what is asked anew is answered. */
  stallWatches(): number;
  close(): Promise<void>;
}

/** Starts one to a server that `ca` signed. */
export async function startHoldingProxy(to: { url: string; ca: string }): Promise<HoldingProxy> {
  const target = new URL(to.url);
  const authority = await makeAuthority("the authority of a line");
  const pair = await issueCertificate(
    authority,
    { commonName: "line", ipAddresses: ["127.0.0.1"] },
    { usage: "server" },
  );
  const agent = new Agent({ keepAlive: true, ca: to.ca });
  const watches = new Set<{ upstream: IncomingMessage; response: ServerResponse }>();
  let held: { fits: (method: string, path: string) => boolean; onHeld: (path: string) => void } | undefined;
  const server = createServer({ ...pair, requestTimeout: 0 }, (request, response) => {
    const { method = "", url = "/", headers } = request;
    if (held?.fits(method, url)) return held.onHeld(url);
    const upstream = send(
      {
        host: target.hostname,
        port: target.port,
        method,
        path: url,
        headers: { ...headers, host: target.host },
        agent,
      },
      (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers).flushHeaders();
        reply.pipe(response).on("error", () => reply.destroy());
        reply.on("error", () => response.destroy());
        const watch = { upstream: reply, response };
        if (url.includes("watch=true")) watches.add(watch);
        response.on("close", () => watches.delete(watch));
      },
    );
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    server: { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, ca: authority.cert },
    hold: (fits) => new Promise((onHeld) => (held = { fits, onHeld })),
    release: () => void (held = undefined),
    stallWatches() {
      for (const { upstream, response } of watches) {
        upstream.unpipe(response);
        upstream.pause();
      }
      return watches.size;
    },
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
