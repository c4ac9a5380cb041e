"""The multi-turn tasks of the Berkeley Function Calling Leaderboard: 200 tasks and three variants of each."""

import ast
import copy
import inspect
import json
from importlib import import_module, resources

PACKAGE = "bfcl-eval"
VERSION = "2026.3.23"

DATA = resources.files("bfcl_eval") / "data"
# The name of each variant in the tables.
VARIANTS = {
    "base": "BFCL base",
    "miss_func": "BFCL missing",
    "miss_param": "BFCL missing",
    "long_context": "BFCL long context",
}
# A server's name, the suite's class, its module and its list of tools.
CLASSES = {
    "files": ("GorillaFileSystem", "gorilla_file_system", "gorilla_file_system"),
    "math": ("MathAPI", "math_api", "math_api"),
    "messages": ("MessageAPI", "message_api", "message_api"),
    "posts": ("TwitterAPI", "posting_api", "posting_api"),
    "tickets": ("TicketAPI", "ticket_api", "ticket_api"),
    "trading": ("TradingBot", "trading_bot", "trading_bot"),
    "trips": ("TravelAPI", "travel_booking", "travel_booking"),
    "vehicle": ("VehicleControlAPI", "vehicle_control", "vehicle_control"),
}
# Python's names of types, as the suite writes them, in JSON Schema.
TYPES = {"dict": "object", "float": "number", "tuple": "array"}


def lines(*path):
    text = DATA.joinpath(*path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def variant(name):
    file = f"BFCL_v4_multi_turn_{name}.json"
    return zip(lines(file), lines("possible_answer", file), strict=True)


def api(server):
    name, module, _ = CLASSES[server]
    return getattr(import_module(f"bfcl_eval.eval_checker.multi_turn_eval.func_source_code.{module}"), name)


def schema(value):
    match value:
        case {"type": "any", **rest}:
            return schema(rest)
        case {"type": str(kind), **rest}:
            return {"type": TYPES.get(kind, kind), **schema(rest)}
        case dict():
            return {key: schema(item) for key, item in value.items()}
        case list():
            return [schema(item) for item in value]
    return value


def tasks():
    servers = {name: server for server, (name, _, _) in CLASSES.items()}
    for name, group in VARIANTS.items():
        for question, truth in variant(name):
            involved = [servers[each] for each in question["involved_classes"]]
            methods = {method: server for server in involved for method, _ in public(api(server))}
            hidden = question.get("excluded_function") or []
            yield {
                "id": question["id"],
                "group": group,
                "servers": [f"bfcl.{server}" for server in involved],
                "hidden": [{"server": f"bfcl.{methods[tool]}", "tool": tool} for tool in hidden if tool in methods],
                "system": "",
                "turns": [
                    {
                        "user": "\n".join(message["content"] for message in messages),
                        "calls": [call(text, methods) for text in calls],
                    }
                    for messages, calls in zip(question["question"], truth["ground_truth"], strict=True)
                ],
            }


def public(cls):
    return [pair for pair in inspect.getmembers(cls, inspect.isfunction) if not pair[0].startswith("_")]


def call(text, methods):
    """A call that the suite writes as Python, with the names of its arguments."""
    tree = ast.parse(text, mode="eval").body
    tool = tree.func.id
    names = list(inspect.signature(getattr(api(methods[tool]), tool)).parameters)[1:]
    arguments = dict(zip(names, map(ast.literal_eval, tree.args)))
    arguments |= {keyword.arg: ast.literal_eval(keyword.value) for keyword in tree.keywords}
    return {"server": f"bfcl.{methods[tool]}", "tool": tool, "arguments": arguments}


class Server:
    def __init__(self, name):
        self.name = name
        self.instance = None
        # Read at the first reset: a server that is only listed starts immediately.
        self.scenarios = None

    def tools(self):
        return [
            {"name": each["name"], "description": each["description"], "inputSchema": schema(each["parameters"])}
            for each in lines("multi_turn_func_doc", f"{CLASSES[self.name][2]}.json")
        ]

    def reset(self, task):
        if self.scenarios is None:
            each = (question for name in VARIANTS for question, _ in variant(name))
            self.scenarios = {question["id"]: question["initial_config"] for question in each}
        self.instance = api(self.name)()
        if hasattr(self.instance, "_load_scenario"):
            config = copy.deepcopy(self.scenarios[task].get(CLASSES[self.name][0], {}))
            self.instance._load_scenario(config, long_context="long_context" in task)

    def call(self, tool, arguments):
        method = getattr(self.instance, tool)
        bound = inspect.signature(method).bind(**arguments)
        bound.apply_defaults()
        # Some tools change their default lists, which would outlast the task.
        result = method(**copy.deepcopy(bound.arguments))
        # As the suite's own executor writes results.
        if isinstance(result, str):
            return result
        if isinstance(result, dict):
            try:
                return json.dumps(result)
            except TypeError:
                pass
        return str(result)

    def state(self):
        """What the suite compares: the public attributes."""
        return {key: plain(value) for key, value in vars(self.instance).items() if not key.startswith("_")}


def plain(value):
    """JSON, in which the bench compares numbers by their value, as the suite does. Objects become strings."""
    match value:
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case None | bool() | int() | float() | str():
            return value
    return repr(value)
