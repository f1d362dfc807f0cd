# A broker of the library openbrokerapi: databases in memory. Plan `fast` answers at once, plan `slow` goes on by itself.
import sys
from uuid import uuid4

from openbrokerapi import api, errors
from openbrokerapi.catalog import ServicePlan
from openbrokerapi.service_broker import (
    BindState,
    Binding,
    DeprovisionServiceSpec,
    GetBindingSpec,
    LastOperation,
    OperationState,
    ProvisionedServiceSpec,
    ProvisionState,
    Service,
    ServiceBroker,
    UnbindSpec,
    UpdateServiceSpec,
)

POLLS = 2


class Databases(ServiceBroker):
    def __init__(self):
        self.instances = {}
        self.bindings = {}
        self.pending = {}
        self.log = []

    def catalog(self):
        plans = [
            ServicePlan(id="fast-id", name="fast", description="at once", free=True),
            ServicePlan(id="slow-id", name="slow", description="after a while", free=True),
        ]
        return Service(
            id="db-id",
            name="pydb",
            description="databases in memory",
            bindable=True,
            plans=plans,
            plan_updateable=True,
            bindings_retrievable=True,
            instances_retrievable=False,
        )

    def begin(self, plan, what, end):
        """Whether it goes on by itself. `end` is done when it is over."""
        self.log.append(what)
        if plan != "slow-id":
            end()
            return None
        operation = str(uuid4())
        self.pending[operation] = {"polls": POLLS, "end": end}
        return operation

    def provision(self, instance_id, details, async_allowed, **kwargs):
        if instance_id in self.instances:
            raise errors.ErrInstanceAlreadyExists()
        if details.plan_id == "slow-id" and not async_allowed:
            raise errors.ErrAsyncRequired()
        if (details.parameters or {}).get("fail"):
            raise errors.ErrInvalidParameters("fail was asked for")
        end = lambda: self.instances.update({instance_id: details.plan_id})
        operation = self.begin(details.plan_id, "provision", end)
        state = ProvisionState.IS_ASYNC if operation else ProvisionState.SUCCESSFUL_CREATED
        return ProvisionedServiceSpec(state=state, operation=operation)

    def update(self, instance_id, details, async_allowed, **kwargs):
        if instance_id not in self.instances:
            raise errors.ErrInstanceDoesNotExist()
        plan = details.plan_id or self.instances[instance_id]
        operation = self.begin(plan, "update", lambda: self.instances.update({instance_id: plan}))
        return UpdateServiceSpec(bool(operation), operation)

    def deprovision(self, instance_id, details, async_allowed, **kwargs):
        if instance_id not in self.instances:
            raise errors.ErrInstanceDoesNotExist()
        operation = self.begin(details.plan_id, "deprovision", lambda: self.instances.pop(instance_id))
        return DeprovisionServiceSpec(bool(operation), operation)

    def bind(self, instance_id, binding_id, details, async_allowed, **kwargs):
        if binding_id in self.bindings:
            raise errors.ErrBindingAlreadyExists()
        credentials = {"uri": f"mem://{instance_id}", "user": binding_id}
        operation = self.begin(details.plan_id, "bind", lambda: self.bindings.update({binding_id: credentials}))
        if operation:
            return Binding(state=BindState.IS_ASYNC, operation=operation)
        return Binding(state=BindState.SUCCESSFUL_BOUND, credentials=credentials)

    def unbind(self, instance_id, binding_id, details, async_allowed, **kwargs):
        if binding_id not in self.bindings:
            raise errors.ErrBindingDoesNotExist()
        operation = self.begin(details.plan_id, "unbind", lambda: self.bindings.pop(binding_id))
        return UnbindSpec(bool(operation), operation)

    def get_binding(self, instance_id, binding_id, **kwargs):
        if binding_id not in self.bindings:
            raise errors.ErrBindingDoesNotExist()
        return GetBindingSpec(self.bindings[binding_id])

    def poll(self, operation):
        found = self.pending.get(operation)
        if found is None:
            return LastOperation(OperationState.SUCCEEDED, "done")
        found["polls"] -= 1
        if found["polls"] > 0:
            return LastOperation(OperationState.IN_PROGRESS, f"{found['polls']} steps left")
        self.pending.pop(operation)["end"]()
        return LastOperation(OperationState.SUCCEEDED, "done")

    def last_operation(self, instance_id, operation_data, **kwargs):
        return self.poll(operation_data)

    def last_binding_operation(self, instance_id, binding_id, operation_data, **kwargs):
        return self.poll(operation_data)


def main():
    databases = Databases()
    blueprint = api.get_blueprint(
        databases, api.BrokerCredentials("broker", "secret"), __import__("logging").getLogger("broker")
    )
    from flask import Flask, jsonify

    app = Flask(__name__)
    app.register_blueprint(blueprint)
    # For the test alone: what is there, and what was asked.
    app.add_url_rule("/state", view_func=lambda: jsonify(
        instances=len(databases.instances), bindings=len(databases.bindings), log=databases.log
    ))
    app.run("127.0.0.1", int(sys.argv[1]))


main()
