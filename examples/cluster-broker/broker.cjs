// A service broker that offers Services and PersistentVolumeClaims of its cluster, by their label. It knows the Open Service Broker API 2.17 and the Kubernetes API, and nothing of Cupola but two labels.
const { createHash, timingSafeEqual } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { createServer } = require("node:http");

const env = process.env;
/** An object with this label is offered; the value is the name of its plan. */
const OFFERED = "broker.example.com/plan";
/** The namespace of a space has this label (Cupola's docs/labels.md). */
const SPACE = "cupola.dev/space-guid";
/** Whoever may update a claim opens it to apps: read-only or read-write. */
const CONSENT = "cupola.dev/volume";
const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const MAX_BODY = 64 * 1024;
const DEADLINE_MS = 10_000;

const OFFERINGS = {
  "b1f4b6c0-7a3f-4d52-9d0c-5b6d2f1a0c01": { name: "cluster-service", list: "services", requires: [], bind: bindService },
  "b1f4b6c0-7a3f-4d52-9d0c-5b6d2f1a0c02": {
    name: "cluster-volume",
    list: "persistentvolumeclaims",
    requires: ["volume_mount"],
    bind: bindVolume,
  },
};

class Refused extends Error {
  constructor(status, description, error) {
    super(description);
    this.status = status;
    this.body = { description, ...(error && { error }) };
  }
}

async function kubernetes(path) {
  const url = env.KUBERNETES_URL ?? "https://kubernetes.default.svc";
  // The token is replaced from time to time. NODE_EXTRA_CA_CERTS names the authority of the API server.
  const token = env.KUBERNETES_TOKEN ?? readFileSync(`${ACCOUNT}/token`, "utf8");
  const answer = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  if (!answer.ok) throw new Error(`the Kubernetes API answered ${answer.status} to ${path}`);
  return (await answer.json()).items;
}

const offered = (plural) => kubernetes(`/api/v1/${plural}?labelSelector=${encodeURIComponent(OFFERED)}&limit=500`);

async function catalog() {
  const services = await Promise.all(
    Object.entries(OFFERINGS).map(async ([id, { name, list, requires }]) => ({
      id,
      name,
      description: `${list} of this cluster with the label ${OFFERED}`,
      bindable: true,
      plan_updateable: false,
      requires,
      plans: (await offered(list)).map(toPlan),
    })),
  );
  // The specification wants at least one plan of each.
  return { services: services.filter(({ plans }) => plans.length > 0) };
}

function toPlan({ metadata }) {
  const { uid, name, namespace, labels } = metadata;
  return { id: uid, name: labels[OFFERED], description: `${name} in namespace ${namespace}`, free: true };
}

async function find({ service_id: service, plan_id: plan }) {
  const offering = OFFERINGS[service];
  const object = offering && (await offered(offering.list)).find(({ metadata }) => metadata.uid === plan);
  if (!object) throw new Refused(400, "there is no such plan: its object is gone, or has lost its label");
  return { offering, object };
}

async function provision(_ids, body) {
  await find(body);
  if (!body.organization_guid || !body.space_guid) throw new Refused(400, "organization_guid and space_guid are missing");
  return [201, {}];
}

async function bind(ids, body) {
  const { offering, object } = await find(body);
  return [201, await offering.bind(object, body, ids)];
}

function bindService({ metadata, spec }) {
  const { name, namespace } = metadata;
  const host = `${name}.${namespace}.svc.cluster.local`;
  const ports = Object.fromEntries((spec.ports ?? []).map((one) => [one.name ?? String(one.port), one.port]));
  const port = spec.ports?.[0]?.port;
  return { credentials: { host, port, ports, uri: `tcp://${host}:${port}` } };
}

async function bindVolume({ metadata }, { context = {}, bind_resource: target = {}, parameters = {} }, { binding }) {
  if (!target.app_guid) throw new Refused(422, "a volume is for an app", "RequiresApp");
  const space = target.space_guid ?? context.space_guid ?? "";
  const selector = encodeURIComponent(`${SPACE}=${space}`);
  const [namespace] = await kubernetes(`/api/v1/namespaces?labelSelector=${selector}`);
  if (namespace?.metadata.name !== metadata.namespace)
    throw new Refused(400, `the claim is in namespace ${metadata.namespace}, and only apps of the space there mount it`);
  const consent = metadata.labels[CONSENT];
  if (!consent) throw new Refused(400, `the claim has no label ${CONSENT}: whoever may update it opens it to apps`);
  const mode = parameters.mode ?? "r";
  if (mode === "rw" && consent !== "read-write") throw new Refused(400, `the claim is ${consent}: bind it with mode r`);
  return {
    credentials: {},
    volume_mounts: [
      {
        driver: "persistentvolumeclaim",
        container_dir: parameters.mount ?? `/var/vcap/data/${binding}`,
        mode,
        device_type: "shared",
        device: { volume_id: metadata.name },
      },
    ],
  };
}

const INSTANCE = /^\/v2\/service_instances\/([^/]+)(?:\/service_bindings\/([^/]+))?$/;

async function answer(method, url, body) {
  if (method === "GET" && url.pathname === "/v2/catalog") return [200, await catalog()];
  const [, instance, binding] = INSTANCE.exec(url.pathname) ?? [];
  if (!instance) throw new Refused(404, "no such endpoint");
  if (method === "PUT") return binding ? bind({ instance, binding }, body) : provision({ instance }, body);
  // Nothing is kept, so nothing is left to take back.
  if (method === "DELETE") return [200, {}];
  throw new Refused(405, "no such method");
}

async function readBody(request) {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > MAX_BODY) throw new Refused(413, "the body is too large");
  }
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Refused(400, "the body is no JSON");
  }
}

const digest = (text) => createHash("sha256").update(text).digest();

function authenticate({ headers }) {
  const wanted = `Basic ${Buffer.from(`${env.BROKER_USER}:${env.BROKER_PASSWORD}`).toString("base64")}`;
  if (!timingSafeEqual(digest(headers.authorization ?? ""), digest(wanted)))
    throw new Refused(401, "unknown user or password");
  if (!/^2\./.test(headers["x-broker-api-version"] ?? ""))
    throw new Refused(412, "X-Broker-API-Version 2.x is needed");
}

async function serve(request, response) {
  try {
    authenticate(request);
    const url = new URL(request.url, "http://broker");
    const [status, body] = await answer(request.method, url, await readBody(request));
    send(response, status, body);
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error.message);
    send(response, error.status ?? 500, error.body ?? { description: "the broker cannot ask its cluster now" });
  }
}

function send(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

if (!env.BROKER_USER || !env.BROKER_PASSWORD) throw new Error("set BROKER_USER and BROKER_PASSWORD");
const server = createServer((request, response) => void serve(request, response));
server.listen(Number(env.PORT ?? 8080), env.ADDRESS, () => console.log(`listening at port ${server.address().port}`));
process.on("SIGTERM", () => server.close());
