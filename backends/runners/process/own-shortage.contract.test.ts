// A shortage of descriptors in the platform does not count against healthy instances, and makes no port look taken.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

/** Runs `script` in a process with few descriptors. Its `use()` opens all that are left, and `giveBack()` closes them. */
async function withFewDescriptors(script: string): Promise<unknown> {
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const program = `
    import { openSync, closeSync } from "node:fs";
    import { createServer } from "node:http";
    import { checkHealth } from ${module("check-health.ts")};
    import { createPortPool } from ${module("port-pool.ts")};
    import { findProcess } from ${module("../../host/process-table.ts")};
    const server = createServer((_, response) => response.end());
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const target = { host: "127.0.0.1", ports: [server.address().port] };
    const open = [];
    const use = () => { try { for (;;) open.push(openSync("/dev/null")); } catch {} };
    const giveBack = () => open.splice(0).forEach((fd) => closeSync(fd));
    const result = await (async () => { ${script} })();
    giveBack();
    console.log(JSON.stringify(result));
    process.exit();`;
  const shell = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", shell, process.execPath, program], {
    timeout: 30_000,
    env: { PATH: process.env.PATH },
  });
  return JSON.parse(stdout) as unknown;
}

describe.skipIf(process.platform === "win32")("without a free descriptor", () => {
  it.each(["port", "http"])("the result of a %s check is unknown, and healthy afterwards", async (type) => {
    const script = `
      const check = { type: "${type}" };
      use();
      const short = await checkHealth(check, target);
      giveBack();
      return [short.outcome, (await checkHealth(check, target)).outcome];`;
    expect(await withFewDescriptors(script)).toEqual(["unknown", "healthy"]);
  });

  it("a port does not count as taken, and is allocated afterwards", async () => {
    const script = `
      const pool = createPortPool(0);
      use();
      const short = await pool.allocate(1).catch((error) => error.message);
      giveBack();
      return [short, (await pool.allocate(1)).length];`;
    expect(await withFewDescriptors(script)).toEqual([expect.stringMatching(/cannot test whether port .*EMFILE/), 1]);
  });

  it("a process that cannot be looked up does not count as gone", async () => {
    const script = `
      use();
      setTimeout(giveBack, 300);
      return (await findProcess(process.pid))?.pid === process.pid;`;
    expect(await withFewDescriptors(script)).toBe(true);
  });
});
