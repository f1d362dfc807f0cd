// Redis: a server for each instance, since its databases cannot be kept apart; a user for each binding.
const { existsSync, mkdirSync, rmSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { Unusable, findFolder, freePort, run } = require("./run.cjs");

const GET = "install Redis, on Debian and Ubuntu: sudo apt install redis-server";
const WAIT_MS = 10_000;
const ADMIN = "cupola";

const offering = {
  id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1b01",
  name: "redis",
  description: "Redis on this machine",
  tags: ["redis"],
  plan: {
    id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1b02",
    name: "small",
    description: "A server of its own with 64 MB",
  },
};

function findPrograms() {
  const folder = findFolder("redis-server");
  const client = findFolder("redis-cli");
  if (!folder || !client) throw new Unusable(`this machine has no Redis: ${GET}`);
  return { server: join(folder, "redis-server"), client: join(client, "redis-cli") };
}

/** @param instances what the broker keeps of each instance, by name; its port is kept there */
function createRedis({ folder, secret, instances }) {
  const dataOf = (name) => join(folder, name);

  /** @param last the last argument, which no other user of this machine is to see in a list of processes */
  const askWith = (port, last, ...args) => {
    const access = ["-h", "127.0.0.1", "-p", String(port), "--user", ADMIN, "--no-auth-warning", "-e"];
    return run([findPrograms().client, ...access, ...(last === undefined ? [] : ["-x"]), ...args], {
      input: last,
      env: { REDISCLI_AUTH: secret(ADMIN) },
      deadlineMs: WAIT_MS,
    });
  };
  const ask = (port, ...args) => askWith(port, undefined, ...args);

  const answers = (port) =>
    ask(port, "PING").then(
      () => true,
      () => false,
    );

  async function startOne(name, port) {
    if (await answers(port)) return;
    const data = dataOf(name);
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const acl = join(data, "users.acl");
    if (!existsSync(acl))
      writeFileSync(acl, `user default off\nuser ${ADMIN} on >${secret(ADMIN)} ~* &* +@all\n`, { mode: 0o600 });
    const options = {
      bind: "127.0.0.1",
      port: String(port),
      dir: data,
      aclfile: acl,
      appendonly: "yes",
      maxmemory: "64mb",
      daemonize: "yes",
      logfile: join(data, "server.log"),
      pidfile: join(data, "pid"),
    };
    await run([findPrograms().server, ...Object.entries(options).flatMap(([key, value]) => [`--${key}`, value])]);
    const deadline = Date.now() + WAIT_MS;
    while (!(await answers(port))) {
      if (Date.now() > deadline) throw new Error(`Redis does not answer at port ${port}: see ${options.logfile}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async function start() {
    findPrograms();
    for (const [name, { port }] of Object.entries(instances())) await startOne(name, port);
  }

  async function stopOne(port) {
    if (await answers(port)) await ask(port, "SHUTDOWN").catch(() => undefined); // it ends before it answers
  }

  async function stop() {
    for (const { port } of Object.values(instances())) await stopOne(port);
  }

  /** Apps know the port, so it stays. */
  const reserve = async () => ({ port: await freePort() });

  const provision = (name, { port }) => startOne(name, port);

  async function deprovision(name, known) {
    if (known) await stopOne(known.port);
    rmSync(dataOf(name), { recursive: true, force: true });
  }

  async function bind(name, user) {
    const { port } = instances()[name];
    const password = secret(user);
    await askWith(port, `>${password}`, "ACL", "SETUSER", user, "reset", "on", "~*", "&*", "+@all", "-@admin");
    await ask(port, "ACL", "SAVE");
    return {
      host: "127.0.0.1",
      hostname: "127.0.0.1",
      port,
      username: user,
      password,
      uri: `redis://${user}:${password}@127.0.0.1:${port}`,
    };
  }

  async function unbind(name, user) {
    const known = instances()[name];
    if (!known) return;
    await ask(known.port, "ACL", "DELUSER", user);
    await ask(known.port, "ACL", "SAVE");
  }

  return { start, stop, reserve, provision, deprovision, bind, unbind };
}

module.exports = { create: createRedis, offering };
