// PostgreSQL: one server, a database and a role for each instance, a user for each binding. Users of one instance share what they make, since all act as its role.
const { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { Unusable, findFolder, numberedFolders, run } = require("./run.cjs");

const GET = "install PostgreSQL, on Debian and Ubuntu: sudo apt install postgresql";
/** PostgreSQL does not run as root. In a user namespace root is somebody else, and still owns the files. */
const asUser = process.getuid?.() === 0 ? ["unshare", "--user", "--map-user=1000"] : [];

const offering = {
  id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1a01",
  name: "postgres",
  description: "PostgreSQL on this machine",
  tags: ["postgres", "postgresql", "sql"],
  plan: {
    id: "6e2cb3e6-5cf5-4d1c-9f4e-7d1c0b0c1a02",
    name: "small",
    description: "A database of a server that all instances share",
  },
};

/** The server's programs. Debian keeps them off the PATH, in a folder for each version. */
function findPrograms(data) {
  const version = versionOf(data);
  const debian = numberedFolders("/usr/lib/postgresql").map((folder) => join(folder, "bin"));
  const own = debian.filter((folder) => folder === `/usr/lib/postgresql/${version}/bin`);
  const folder = findFolder("pg_ctl", own) ?? findFolder("pg_ctl", debian) ?? findFolder("pg_ctl");
  if (!folder || !findFolder("initdb", [folder])) throw new Unusable(`this machine has no PostgreSQL: ${GET}`);
  const client = findFolder("psql", [folder]) ?? findFolder("psql");
  if (!client) throw new Unusable(`this machine has no psql: ${GET}`);
  return { server: (name) => join(folder, name), psql: join(client, "psql") };
}

function lastLine(file) {
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").at(-1) : undefined;
}

function versionOf(data) {
  const file = join(data, "PG_VERSION");
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}

/** @throws Unusable */
async function requireUsable(data) {
  const [found] = /\d+/.exec(await run([findPrograms(data).server("pg_ctl"), "--version"])) ?? [];
  const version = versionOf(data);
  if (version !== undefined && version !== found)
    throw new Unusable(`the data in ${data} is of PostgreSQL ${version}, and this machine has ${found}: install postgresql-${version}`);
  if (asUser.length === 0) return;
  await run([...asUser, "true"]).catch(() => {
    throw new Unusable("PostgreSQL does not run as root, and this machine makes no user namespaces: start this as another user");
  });
}

/** @param port where it listens, always the same, since apps know it @param address of this machine for apps, which is 127.0.0.1 unless others reach it */
function createPostgres({ folder, port, address, secret }) {
  const data = join(folder, "data");
  const isLocal = address === "127.0.0.1";
  const env = { PGPASSWORD: secret("superuser"), PGCONNECT_TIMEOUT: "10", LC_ALL: "C" };
  const programs = () => findPrograms(data);
  const control = (...args) => run([...asUser, programs().server("pg_ctl"), "-D", data, ...args], { env: { LC_ALL: "C" } });
  const isRunning = () =>
    control("status").then(
      () => true,
      () => false,
    );

  /** SQL has no text of others: names are digests. */
  const sql = (database, text) =>
    run(
      [programs().psql, "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-h", "127.0.0.1", "-p", String(port)].concat(
        ["-U", "cupola", "-d", database],
      ),
      { input: text, env },
    );

  async function init() {
    const half = `${data}.half`;
    const password = join(folder, "superuser");
    rmSync(half, { recursive: true, force: true });
    writeFileSync(password, secret("superuser"), { mode: 0o600 });
    try {
      const options = ["-D", half, "-U", "cupola", "-E", "UTF8", "--no-locale", "-A", "scram-sha-256", `--pwfile=${password}`];
      await run([...asUser, programs().server("initdb"), ...options], { env: { LC_ALL: "C" } });
    } finally {
      rmSync(password, { force: true });
    }
    if (!isLocal) appendFileSync(join(half, "pg_hba.conf"), "host all all all scram-sha-256\n");
    renameSync(half, data);
  }

  async function start() {
    await requireUsable(data);
    if (!existsSync(data)) await init();
    if (await isRunning()) return;
    const log = join(folder, "server.log");
    const listen_addresses = isLocal ? address : `127.0.0.1,${address}`;
    const settings = { listen_addresses, unix_socket_directories: "", shared_buffers: "32MB" };
    // A statement that fails may hold a password.
    const all = Object.entries({ ...settings, log_min_error_statement: "panic" }).map(([key, value]) => `-c ${key}=${value}`);
    await control("-l", log, "-w", "-t", "50", "-o", `-p ${port} ${all.join(" ")}`, "start").catch((error) => {
      throw new Unusable(`PostgreSQL has not started: ${lastLine(log) ?? error.message}; all of its log is ${log}`);
    });
    await sql("postgres", "REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC;");
  }

  async function stop() {
    if (existsSync(data) && (await isRunning())) await control("-m", "fast", "-w", "-t", "50", "stop");
  }

  const missing = (table, column, name, statement) =>
    `SELECT '${statement}' WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE ${column} = '${name}') \\gexec\n`;

  async function provision(instance) {
    await sql(
      "postgres",
      missing("pg_roles", "rolname", instance, `CREATE ROLE ${instance} NOLOGIN`) +
        missing("pg_database", "datname", instance, `CREATE DATABASE ${instance} OWNER ${instance}`) +
        `REVOKE ALL ON DATABASE ${instance} FROM PUBLIC;`,
    );
  }

  async function deprovision(instance) {
    await sql("postgres", `DROP DATABASE IF EXISTS ${instance} WITH (FORCE);\nDROP ROLE IF EXISTS ${instance};`);
  }

  async function bind(instance, user) {
    const password = secret(user);
    await sql(
      "postgres",
      missing("pg_roles", "rolname", user, `CREATE ROLE ${user}`) +
        `ALTER ROLE ${user} LOGIN PASSWORD '${password}';\nGRANT ${instance} TO ${user};\nALTER ROLE ${user} SET role = ${instance};`,
    );
    return {
      host: address,
      hostname: address,
      port,
      name: instance,
      database: instance,
      username: user,
      password,
      uri: `postgres://${user}:${password}@${address}:${port}/${instance}`,
      jdbc_url: `jdbc:postgresql://${address}:${port}/${instance}?user=${user}&password=${password}`,
    };
  }

  /** Whatever the user made as itself becomes the instance's. */
  async function unbind(instance, user) {
    const known = await sql("postgres", `SELECT 1 FROM pg_roles WHERE rolname = '${user}';`);
    if (known.trim() === "") return;
    await sql(
      "postgres",
      `ALTER ROLE ${user} NOLOGIN;\nSELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}';`,
    );
    await sql(instance, `REASSIGN OWNED BY ${user} TO ${instance};\nDROP OWNED BY ${user};`);
    await sql("postgres", `DROP ROLE ${user};`);
  }

  return { start, stop, provision, deprovision, bind, unbind };
}

module.exports = { create: createPostgres, offering };
