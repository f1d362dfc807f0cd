// A network of nock's for tests of faults that no real server shows on request: another host, another status at each step, a body that is cut.
import { Readable } from "node:stream";
import nock from "nock";

/** For `beforeAll`: from now on no request leaves this process. */
export function fakeNetwork(): void {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
}

/** For `afterAll`: test files share modules, and the next one wants real sockets. */
export function restoreNetwork(): void {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
}

/** A body whose connection breaks after `sent`. */
export function cutAfter(sent: string | Buffer): Readable {
  const chunks = [sent];
  return new Readable({
    read() {
      const chunk = chunks.shift();
      if (chunk === undefined) this.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
      else this.push(chunk);
    },
  });
}
