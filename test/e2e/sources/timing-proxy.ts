// A proxy between a client and a laptop's CF API that tells for how long the client worked by itself before it asked for a build: it read, hashed and packed files, and `cf` looks at its
// progress bar for a second after the upload. The platform had nothing to do then.
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";

export interface TimingProxy {
  url: string;
  /** A push begins now. */
  begin(): void;
  /** Seconds since then without a request under way, until the build was asked for, or until now where there was none. */
  ownSeconds(): number;
  close(): Promise<void>;
}

/** The Host header stays as it is, so links in answers lead back through the proxy. */
export async function startTimingProxy(port: number): Promise<TimingProxy> {
  const clock = idleClock(() => performance.now());
  const server = createServer((request, response) => {
    const { method = "GET", url = "/", headers } = request;
    clock.asked(method, url);
    response.on("close", () => clock.answered());
    const upstream = send({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  });
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    begin: () => clock.begin(),
    ownSeconds: () => clock.ownSeconds(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const UPLOAD = /^\/v3\/packages\/[^/]+\/upload$/;
/** A client that asks for the package after its upload waits for the platform. */
const PACKAGE = /^\/v3\/packages\//;

interface IdleClock extends Pick<TimingProxy, "begin" | "ownSeconds"> {
  asked(method: string, path: string): void;
  answered(): void;
}

/** @param now milliseconds */
export function idleClock(now: () => number): IdleClock {
  let open = 0;
  let idleSince = now();
  let ownMs = 0;
  let stage: "before upload" | "uploaded" | "over" = "before upload";
  return {
    begin() {
      idleSince = now();
      ownMs = 0;
      stage = "before upload";
    },
    asked(method, path) {
      const waits = stage === "over" || (stage === "uploaded" && PACKAGE.test(path));
      if (open === 0 && !waits) ownMs += now() - idleSince;
      open++;
      if (stage === "before upload" && method === "POST" && UPLOAD.test(path)) stage = "uploaded";
      else if (stage === "uploaded") stage = "over";
    },
    answered() {
      open--;
      if (open === 0) idleSince = now();
    },
    ownSeconds: () => (ownMs + (open === 0 && stage === "before upload" ? now() - idleSince : 0)) / 1000,
  };
}
