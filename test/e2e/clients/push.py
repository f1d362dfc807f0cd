# A pipeline with cf-python-client: logs in, pushes an app, reads its logs, deletes it.
import os
import time

from cloudfoundry_client.client import CloudFoundryClient
from cloudfoundry_client.v3.packages import PackageType

API = os.environ["CF_API"]


def wait(what, read, is_done, seconds=120):
    end = time.monotonic() + seconds
    while True:
        seen = read()
        if is_done(seen):
            return seen
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {seconds} s, last {seen}")
        time.sleep(0.5)


def push(client, name):
    space = next(s for s in client.v3.spaces.list(names=os.environ["CF_SPACE"]) if s["name"] == os.environ["CF_SPACE"])
    app = client.post(
        f"{API}/v3/apps",
        json={"name": name, "relationships": {"space": {"data": {"guid": space["guid"]}}}},
    ).json()
    package = client.v3.packages.create(app["guid"], PackageType.BITS)
    with open(os.environ["CF_BITS"], "rb") as bits:
        client.post(f"{API}/v3/packages/{package['guid']}/upload", files={"bits": ("bits.zip", bits)})
    wait("package", lambda: client.v3.packages.get(package["guid"])["state"], lambda state: state == "READY")
    build = client.post(f"{API}/v3/builds", json={"package": {"guid": package["guid"]}}).json()
    built = wait(
        "build",
        lambda: client.get(f"{API}/v3/builds/{build['guid']}").json(),
        lambda seen: seen["state"] != "STAGING",
    )
    client.patch(
        f"{API}/v3/apps/{app['guid']}/relationships/current_droplet",
        json={"data": {"guid": built["droplet"]["guid"]}},
    )
    client.post(f"{API}/v3/apps/{app['guid']}/actions/start")
    stats = f"{API}/v3/apps/{app['guid']}/processes/web/stats"
    wait(
        "instance",
        lambda: [one["state"] for one in client.get(stats).json()["resources"]],
        lambda states: states == ["RUNNING"],
    )
    return app


def main():
    for log_in in (
        lambda client: client.init_with_user_credentials(os.environ["CF_USER"], os.environ["CF_TOKEN"]),
        None,
    ):
        client = CloudFoundryClient(API, verify=os.environ.get("CF_CA", True))
        if log_in:
            log_in(client)
        else:
            client = CloudFoundryClient(API, os.environ["CF_USER"], os.environ["CF_TOKEN"])
            client.init_with_client_credentials()
        print("orgs:", [org["name"] for org in client.v3.organizations.list()])
        app = push(client, "by-cf-python-client")
        print("app:", client.v3.apps.get(app["guid"])["state"])
        logs = f"{API}/api/v1/read/{app['guid']}"
        wait("logs", lambda: client.get(logs).json()["envelopes"]["batch"], lambda batch: len(batch) > 0)
        print("logs: some")
        client.v3.jobs.wait_for_job_completion(client.v3.apps.remove(app["guid"]))
        print("deleted")


main()
