"""The user tasks of AgentDojo, without injections: mail, calendar, files, bank, travel, chat."""

import datetime
import functools
import types

from stand_in import stand_in_for

stand_in_for("anthropic", "click", "cohere", "dotenv", "google", "langchain", "openai", "requests", "rich", "tenacity")

# ruff: noqa: E402
from agentdojo.agent_pipeline.agent_pipeline import load_system_message
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.default_suites.v1.tools import cloud_drive_client, email_client
from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite

PACKAGE = "agentdojo"
VERSION = "0.1.35"
BENCHMARK = "v1.2.2"
SUITES = ("workspace", "travel", "banking", "slack")


NOW = datetime.datetime(2024, 5, 15, 12, 0)


class FixedClock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


# Both ways of playing a task have to leave the same state, times included.
for module in (cloud_drive_client, email_client):
    module.datetime = types.SimpleNamespace(**{**vars(datetime), "datetime": FixedClock})


@functools.cache
def pristine(name):
    return get_suite(BENCHMARK, name).load_and_inject_default_environment({})


def environment(suite, task):
    return task.init_environment(pristine(suite.name).model_copy(deep=True))


def tasks():
    for name in SUITES:
        suite = get_suite(BENCHMARK, name)
        for task in suite.user_tasks.values():
            calls = task.ground_truth(environment(suite, task))
            yield {
                "id": f"agentdojo {name} {task.ID}",
                "group": "AgentDojo",
                "servers": [f"agentdojo.{name}"],
                "hidden": [],
                "system": load_system_message("default"),
                "turns": [
                    {
                        "user": task.PROMPT,
                        "calls": [
                            {"server": f"agentdojo.{name}", "tool": call.function, "arguments": dict(call.args)}
                            for call in calls
                        ],
                    }
                ],
            }


class Server:
    def __init__(self, name):
        self.suite = get_suite(BENCHMARK, name)
        self.runtime = FunctionsRuntime(self.suite.tools)
        self.environment = None

    def tools(self):
        return [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters.model_json_schema()}
            for tool in self.suite.tools
        ]

    def reset(self, task):
        task = self.suite.user_tasks[task.rsplit(" ", 1)[1]]
        self.environment = environment(self.suite, task)

    def call(self, tool, arguments):
        result, _ = self.runtime.run_function(self.environment, tool, arguments, raise_on_error=True)
        return tool_result_to_str(result)

    def state(self):
        return self.environment.model_dump(mode="json")
