// A service broker of databases on one machine: `node broker.cjs postgres|redis` serves until SIGTERM, `node broker.cjs postgres|redis stop` ends servers that a killed broker left. It knows the Open Service Broker API 2.17, and nothing of Cupola.
const { createHash, createHmac, randomBytes, timingSafeEqual } = require("node:crypto");
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { createServer } = require("node:http");
const { join } = require("node:path");
const { Unusable, freePort } = require("./run.cjs");

const DATABASES = { postgres: require("./postgres.cjs"), redis: require("./redis.cjs") };
const MAX_BODY = 64 * 1024;
const MAX_INSTANCES = 50;
const [, , kind, verb] = process.argv;
const env = process.env;

class Refused extends Error {
  constructor(status, description, error) {
    super(description);
    this.status = status;
    this.body = { description, ...(error && { error }) };
  }
}

function readState(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, "state.json"), "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw new Unusable(`${join(folder, "state.json")} cannot be read: ${error.message}`);
    return { key: randomBytes(32).toString("hex"), instances: {}, bindings: {} };
  }
}

/** Atomic, so that a kill leaves the old file or the new one. */
function writeState(folder, state) {
  const path = join(folder, "state.json");
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

/** Names of databases and users: whatever the ids are, letters and digits. */
const nameOf = (prefix, id) => `${prefix}_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;

function createBroker(folder, { create, offering }, state, port) {
  const secret = (name) => createHmac("sha256", state.key).update(name).digest("base64url");
  const address = env.DATABASE_ADDRESS ?? "127.0.0.1";
  const database = create({ folder, port, address, secret, instances: () => state.instances });
  const save = () => writeState(folder, state);

  const catalog = () => {
    const { plan, ...service } = offering;
    return [
      200,
      {
        services: [
          {
            ...service,
            bindable: true,
            plan_updateable: false,
            instances_retrievable: true,
            bindings_retrievable: true,
            metadata: { shareable: true },
            plans: [{ ...plan, free: true }],
          },
        ],
      },
    ];
  };

  function requirePlan({ service_id: service, plan_id: plan }) {
    if (!service || !plan) throw new Refused(400, "service_id and plan_id are needed");
    if (service !== offering.id || plan !== offering.plan.id) throw new Refused(400, "there is no such plan here");
  }

  function requireNoParameters({ parameters }) {
    if (parameters && Object.keys(parameters).length > 0)
      throw new Refused(400, `${offering.name} takes no parameters: leave out ${Object.keys(parameters).join(", ")}`);
  }

  async function provision({ instance }, body) {
    requirePlan(body);
    requireNoParameters(body);
    if (!body.organization_guid || !body.space_guid)
      throw new Refused(400, "organization_guid and space_guid are needed");
    const name = nameOf("i", instance);
    if (state.instances[name]?.isMade) return [200, {}];
    if (!state.instances[name] && Object.keys(state.instances).length >= MAX_INSTANCES)
      throw new Refused(400, `this machine has ${MAX_INSTANCES} instances already: delete one first`);
    // Noted first: whoever is killed in between finds it again.
    state.instances[name] ??= (await database.reserve?.()) ?? {};
    save();
    await database.provision(name, state.instances[name]);
    state.instances[name].isMade = true;
    save();
    return [201, {}];
  }

  /** The server is asked whatever the state says: a killed broker may have made more than it noted. */
  async function deprovision({ instance }, query) {
    requirePlan(query);
    const name = nameOf("i", instance);
    const known = state.instances[name];
    for (const [user, binding] of Object.entries(state.bindings)) {
      if (binding.instance !== name) continue;
      await database.unbind(name, user);
      delete state.bindings[user];
    }
    await database.deprovision(name, known);
    delete state.instances[name];
    save();
    return [known ? 200 : 410, {}];
  }

  async function bind({ instance, binding }, body) {
    requirePlan(body);
    requireNoParameters(body);
    const [name, user] = [nameOf("i", instance), nameOf("b", `${instance}/${binding}`)];
    if (!state.instances[name]?.isMade) throw new Refused(404, "there is no such instance");
    const app = body.bind_resource?.app_guid ?? body.app_guid;
    const known = state.bindings[user];
    if (known && known.app !== app) throw new Refused(409, "the binding is there for another app");
    const credentials = await database.bind(name, user);
    state.bindings[user] = { instance: name, app, credentials };
    save();
    return [known ? 200 : 201, { credentials }];
  }

  async function unbind({ instance, binding }, query) {
    requirePlan(query);
    const [name, user] = [nameOf("i", instance), nameOf("b", `${instance}/${binding}`)];
    const known = state.bindings[user];
    if (state.instances[name]) await database.unbind(name, user);
    delete state.bindings[user];
    save();
    return [known ? 200 : 410, {}];
  }

  function fetchOne({ instance, binding }) {
    const name = nameOf("i", instance);
    const found = binding ? state.bindings[nameOf("b", `${instance}/${binding}`)] : state.instances[name];
    if (!found) throw new Refused(404, "there is no such thing");
    if (binding) return [200, { credentials: found.credentials }];
    return [200, { service_id: offering.id, plan_id: offering.plan.id, parameters: {} }];
  }

  const ofInstance = { PUT: provision, DELETE: deprovision, GET: fetchOne };
  const ofBinding = { PUT: bind, DELETE: unbind, GET: fetchOne };
  return { ...database, catalog, answer: (ids, method) => (ids.binding ? ofBinding : ofInstance)[method] };
}

const PATH = /^\/v2\/service_instances\/([^/]+)(?:\/service_bindings\/([^/]+))?$/;

async function answer(broker, request, body) {
  const url = new URL(request.url, "http://broker");
  if (request.method === "GET" && url.pathname === "/v2/catalog") return broker.catalog();
  const [, instance, binding] = PATH.exec(url.pathname) ?? [];
  if (!instance) throw new Refused(404, "there is no such endpoint");
  const handler = broker.answer({ instance, binding }, request.method);
  if (!handler) throw new Refused(405, "this broker does not do that");
  return handler({ instance, binding }, request.method === "PUT" ? body : Object.fromEntries(url.searchParams));
}

async function readBody(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY) throw new Refused(413, "the body is too large");
    chunks.push(chunk);
  }
  try {
    const body = bytes === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
    if (typeof body === "object" && body !== null) return body;
  } catch {
    // told below
  }
  throw new Refused(400, "the body is no JSON object");
}

const digest = (text) => createHash("sha256").update(text).digest();

function authenticate({ headers }) {
  const wanted = `Basic ${Buffer.from(`${env.BROKER_USER}:${env.BROKER_PASSWORD}`).toString("base64")}`;
  if (!timingSafeEqual(digest(headers.authorization ?? ""), digest(wanted)))
    throw new Refused(401, "unknown user or password");
  if (!/^2\./.test(headers["x-broker-api-version"] ?? "")) throw new Refused(412, "X-Broker-API-Version 2.x is needed");
}

/** One operation after the other. */
function createTurns() {
  let last = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

function serve(broker) {
  const inTurn = createTurns();
  return createServer(async (request, response) => {
    const send = (status, body) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    try {
      authenticate(request);
      const body = await readBody(request);
      send(...(await inTurn(() => answer(broker, request, body))));
    } catch (error) {
      if (!(error instanceof Refused)) console.error(error.message);
      send(error.status ?? 500, error.body ?? { description: `${kind} cannot do it now: see the broker's log` });
    }
  });
}

async function main() {
  const made = DATABASES[kind];
  const folder = env.DATA;
  if (!made || !folder) throw new Unusable("usage: DATA=FOLDER node broker.cjs postgres|redis [stop]");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const state = readState(folder);
  state.port ??= await freePort();
  const broker = createBroker(folder, made, state, state.port);
  if (verb === "stop") return broker.stop();
  if (!env.BROKER_USER || !env.BROKER_PASSWORD) throw new Unusable("set BROKER_USER and BROKER_PASSWORD");
  writeState(folder, state);
  await broker.start();
  const server = serve(broker);
  server.on("error", fail);
  server.listen(Number(env.PORT ?? 8080), env.ADDRESS ?? "127.0.0.1", () =>
    console.log(`listening at port ${server.address().port}`),
  );
  // Killed with its parent it leaves its databases running, as a platform's apps are: the next start finds them.
  process.once("disconnect", () => process.exit());
  process.once("SIGTERM", () => {
    server.close();
    server.closeAllConnections();
    broker.stop().catch(fail).then(() => process.exit());
  });
}

function fail(error) {
  const isTaken = error.code === "EADDRINUSE";
  console.error(isTaken ? `port ${env.PORT} of the broker is taken by another program` : error.message);
  process.exit(1);
}

main().catch(fail);
