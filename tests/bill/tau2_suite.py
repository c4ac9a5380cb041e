"""The airline and retail tasks of tau2-bench, as inspect-evals publishes them.

Left out: telecom, where users make most of the calls on their own phones, and banking_knowledge, whose lists of calls
leave out the search in the documents.
"""

import asyncio
import functools
import hashlib
import inspect
import json
import pickle
import sys
import types

import docstring_parser
import pydantic
from stand_in import stand_in_for

# Of the framework, tools need no more than this.
stand_in_for("inspect_ai")

import inspect_ai.tool
import inspect_ai.util


class StoreModel(pydantic.BaseModel):
    pass


class ToolError(Exception):
    pass


inspect_ai.tool.tool = lambda function: function
inspect_ai.tool.ToolError = ToolError
inspect_ai.util.StoreModel = StoreModel
inspect_ai.util.store_as = functools.cache(lambda model, instance: model())

# The package without its `__init__`, which imports the whole of every domain and of the framework.
import inspect_evals

tau2 = types.ModuleType("inspect_evals.tau2")
tau2.__path__ = [f"{path}/tau2" for path in inspect_evals.__path__]
sys.modules[tau2.__name__] = tau2

# ruff: noqa: E402
from inspect_evals.tau2.airline.AirlineAgentTools import get_airline_tools
from inspect_evals.tau2.airline.tools import all_airline_tools
from inspect_evals.tau2.retail.tools import all_retail_tools, get_retail_tools
from inspect_evals.tau2.utils import TAU2_DATA_DIR

PACKAGE = "inspect-evals"
VERSION = "0.26.0"

DOMAINS = {
    "airline": (all_airline_tools, get_airline_tools),
    "retail": (all_retail_tools, get_retail_tools),
}
# The read-only tools. The policies require the user's consent before any other.
READS = ("calculate", "find_", "get_", "list_", "search_", "think", "transfer_to_human_agents")


def tasks():
    for domain in DOMAINS:
        data = TAU2_DATA_DIR / "domains" / domain
        policy = (data / "policy.txt").read_text(encoding="utf-8")
        for task in json.loads((data / "tasks.json").read_text(encoding="utf-8")):
            actions = task["evaluation_criteria"]["actions"] or []
            yield {
                "id": f"tau2 {domain} {task['id']}",
                "group": "tau2",
                "servers": [f"tau2.{domain}"],
                "hidden": [],
                "system": policy,
                "turns": list(turns(domain, task["user_scenario"]["instructions"], actions)),
            }


def turns(domain, instructions, actions):
    """A turn ends where the user has to consent: before each run of writing calls, and after it."""
    runs, user = [], instructions if isinstance(instructions, str) else instructions["reason_for_call"]
    for action in actions:
        reads = action["name"].startswith(READS)
        if not runs or runs[-1][0] != reads:
            runs.append((reads, []))
        runs[-1][1].append({"server": f"tau2.{domain}", "tool": action["name"], "arguments": action["arguments"]})
    for number, (_, calls) in enumerate(runs):
        yield {"user": "Yes." if number else user, "calls": calls}


def definition(name, function):
    """A tool as the framework reads it: from the signature and the docstring of its function."""
    doc = docstring_parser.parse(function.__doc__)
    described = {param.arg_name: param.description for param in doc.params}
    fields = {
        param.name: (
            param.annotation,
            pydantic.Field(
                default=... if param.default is inspect.Parameter.empty else param.default,
                description=described.get(param.name),
            ),
        )
        for param in inspect.signature(function).parameters.values()
    }
    description = "\n".join(filter(None, (doc.short_description, doc.long_description)))
    return {
        "name": name,
        "description": description,
        "inputSchema": pydantic.create_model(name, **fields).model_json_schema(),
    }


class Server:
    def __init__(self, domain):
        tools, self.database = DOMAINS[domain]
        self.functions = {tool.__name__: tool() for tool in tools}
        self.pristine = pickle.dumps(self.database().db)

    def tools(self):
        return [definition(name, function) for name, function in self.functions.items()]

    def reset(self, _task):
        self.database().db = pickle.loads(self.pristine)

    def call(self, tool, arguments):
        result = asyncio.run(self.functions[tool](**arguments))
        return result if isinstance(result, str) else json.dumps(result)

    def state(self):
        # A digest, because a database has 2 MB.
        return hashlib.sha256(self.database().db.model_dump_json().encode()).hexdigest()
