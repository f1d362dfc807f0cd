"""A runner for Cupola: LRPs of one class as processes of this machine. It knows docs/workload-contract.md and the Kubernetes API, nothing else."""
import base64, json, os, signal, socket, ssl, subprocess, tempfile, threading, time, urllib.request, uuid

API, TOKEN, CLASS = os.environ["KUBERNETES_URL"], os.environ["KUBERNETES_TOKEN"], os.environ.get("RUNNER_CLASS", "python")
TLS, HERE = ssl.create_default_context(cafile=os.environ["KUBERNETES_CA"]), "127.0.0.1"
GROUP, FINALIZER = "/apis/workloads.cupola.dev/v1alpha1", f"{CLASS}.example.com/instances"
slots = {}  # (uid of the LRP, index): the Slot of that instance

def call(method, path, patch=None):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/merge-patch+json"}
    request = urllib.request.Request(API + path, patch and json.dumps(patch).encode(), headers, method=method)
    return json.load(urllib.request.urlopen(request, timeout=10, context=TLS))

def now(): return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

def failure(check, ports):
    """Why a health check fails; None when it succeeds."""
    timeout = check.get("invocationTimeoutSeconds", 1)
    try:
        if check["type"] == "http": urllib.request.urlopen(f"http://{HERE}:{ports[0]['hostPort']}{check.get('endpoint', '/')}", timeout=timeout).close()
        for each in ports if check["type"] == "port" else []: socket.create_connection((HERE, each["hostPort"]), timeout).close()
    except OSError as error: return str(error)

class Slot(threading.Thread):
    """One index of one LRP: starts its instance, and again after each crash, until `end` is set."""
    def __init__(self, lrp, index):
        super().__init__(daemon=True)
        self.namespace, self.spec, self.index, self.crashes, self.end = lrp["metadata"]["namespace"], lrp["spec"], index, 0, threading.Event()
        self.restart = self.spec.get("restartInstances", {}).get(str(index))
        self.show("Starting")
        self.start()

    def show(self, state, **more):
        self.status = {"index": self.index, "state": state, "ready": False, "since": now(), "crashCount": self.crashes, **({"restart": self.restart} if self.restart else {}), **more}

    def secret(self, ref): return base64.b64decode(call("GET", f"/api/v1/namespaces/{self.namespace}/secrets/{ref['name']}")["data"][ref["key"]]).decode()

    def environment(self, guid, ports):
        given = {each["name"]: self.secret(each["valueFrom"]["secretKeyRef"]) if "valueFrom" in each else each["value"] for each in self.spec["env"]}
        port = str(ports[0]["hostPort"]) if ports else ""
        own = {"HOME": f"{self.spec['droplet']['root']}/app", "TMPDIR": tempfile.mkdtemp(), "CF_INSTANCE_IP": HERE, "CF_INSTANCE_INTERNAL_IP": HERE,
               "CF_INSTANCE_PORT": port, "CF_INSTANCE_ADDR": port and f"{HERE}:{port}", "CF_INSTANCE_PORTS": json.dumps([{"external": each["hostPort"], "internal": each["hostPort"]} for each in ports])}
        for prefix in ("", "CF_"): own |= {f"{prefix}INSTANCE_INDEX": str(self.index), f"{prefix}INSTANCE_GUID": guid}
        return {"PATH": os.environ["PATH"], "HOST": HERE} | given | own | ({"PORT": port, "VCAP_APP_PORT": port, "VCAP_APP_HOST": "0.0.0.0"} if port else {})

    def run(self):
        kind = self.spec["droplet"]["kind"]
        if kind != "host": self.show("Crashed", details=f"class {CLASS} runs droplets of kind host, not {kind}")
        while kind == "host" and not self.end.is_set():
            guid, free = str(uuid.uuid4()), [socket.create_server((HERE, 0)) for _ in self.spec["ports"]]
            ports = [{"port": port, "hostPort": each.getsockname()[1]} for port, each in zip(self.spec["ports"], free)]
            for each in free: each.close()
            try: env = self.environment(guid, ports)
            except (KeyError, OSError) as error:
                self.show("Down", details=f"waits for Secrets {[each['valueFrom']['secretKeyRef'] for each in self.spec['env'] if 'valueFrom' in each]}: {error}")
                self.end.wait(2)
                continue
            command = self.spec.get("command") or self.spec["droplet"]["processTypes"][self.spec["processType"]]
            process = subprocess.Popen(["/bin/sh", "-c", command], env=env, cwd=env["HOME"], start_new_session=True)
            why = self.watch(process, guid, ports)
            self.stop(process)
            if self.end.is_set(): break
            self.crashes += 1
            self.show("Crashed", details=why)
            self.end.wait(0 if self.crashes < 4 else min(30 * 2 ** (self.crashes - 4), 960))

    def watch(self, process, guid, ports):
        """Looks at the instance until it must end. Returns why, unless somebody wants it to end."""
        health, readiness, began, running = self.spec["healthCheck"], self.spec["readinessHealthCheck"], time.time(), False
        self.show("Starting")
        while not self.end.wait(0.2):
            if (code := process.poll()) is not None: return f"APP/PROC/{self.spec['processType'].upper()}: Exited with status {code if code >= 0 else 128 - code}"
            if running and time.time() < due: continue
            due, failed = time.time() + min(health.get("intervalSeconds", 30), readiness.get("intervalSeconds", 30)), failure(health, ports)
            if failed and running: return f"Instance became unhealthy: {failed}"
            if failed and time.time() > began + health.get("timeoutSeconds", 60): return f"Instance never healthy after {health.get('timeoutSeconds', 60)}s: {failed}"
            if failed: continue
            if not running: self.show("Running", guid=guid, host=HERE, **({"ports": ports} if ports else {}))
            running, self.status["ready"] = True, failure(readiness, ports) is None

    def stop(self, process):
        self.status["ready"] = False
        for number in (signal.SIGTERM, signal.SIGKILL):
            try: os.killpg(process.pid, number); process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired): pass

def reconcile(lrp):
    meta, spec, path = lrp["metadata"], lrp["spec"], f"{GROUP}/namespaces/{lrp['metadata']['namespace']}/lrps/{lrp['metadata']['name']}"
    deleted, finalizers = "deletionTimestamp" in meta, meta.get("finalizers", [])
    finalize = lambda names: call("PATCH", path, {"metadata": {"finalizers": names, "resourceVersion": meta["resourceVersion"]}})
    if not deleted and FINALIZER not in finalizers: finalize([*finalizers, FINALIZER])
    wanted = 0 if deleted else spec["instances"]
    mine = {index: slot for (uid, index), slot in slots.items() if uid == meta["uid"]}
    for index in sorted({*mine, *range(wanted)}, reverse=True):
        slot, key = mine.get(index), (meta["uid"], index)
        if not slot: slots[key] = mine[index] = Slot(lrp, index)
        elif index >= wanted or slot.restart != spec.get("restartInstances", {}).get(str(index)): slot.end.set()
        if slot and slot.end.is_set() and not slot.is_alive(): del slots[key], mine[index]
    if deleted: return None if mine else finalize([each for each in finalizers if each != FINALIZER])
    shown = [mine[index].status.copy() for index in range(wanted) if index in mine]
    running = sum(each["state"] == "Running" and each["ready"] for each in shown)
    broken, old = [each["details"] for each in shown if "details" in each], next(iter(lrp.get("status", {}).get("conditions", [])), {})
    ready = {"type": "Ready", "status": str(running == wanted), "reason": "Running" if running == wanted else "Broken" if broken else "Starting",
             "message": "; ".join([f"{running} of {wanted} instances are running", *broken]), "observedGeneration": meta["generation"]}
    ready["lastTransitionTime"] = old["lastTransitionTime"] if old.get("status") == ready["status"] else now()
    status = {"instances": shown, "runningInstances": running, "observedGeneration": meta["generation"], "conditions": [ready]}
    if status != lrp.get("status"): call("PATCH", f"{path}/status", {"status": status})

call("PATCH", f"{GROUP}/backendclasses/{CLASS}/status", {"status": {"capabilities": {"dropletKinds": "host", "rendering": "1", "crashBackoff": "diego"}}})
while True:
    try: lrps = [lrp for lrp in call("GET", f"{GROUP}/lrps")["items"] if lrp["spec"]["class"] == CLASS]
    except OSError as error: lrps = print(f"cannot list LRPs: {error}", flush=True) or []
    for lrp in lrps:
        try: reconcile(lrp)
        except OSError as error: print(f"{lrp['metadata']['name']}: {error}; tried again", flush=True)
    time.sleep(0.2)
