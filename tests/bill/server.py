"""Tasks of published suites, and each suite's tools as MCP servers over stdio, for `mux-bill suites`.

    server.py --tasks SUITE        prints the suite's version and its tasks, one JSON document each line
    server.py SERVER CONTROL       serves the tools of SERVER; CONTROL is a Unix socket for the bench itself, which
                                   takes {"reset": TASK} and {"state": true}, one JSON line per connection

The tools, their descriptions, their results and their data are the suite's. Nothing of the bench is among the tools.
"""

import importlib.metadata
import json
import os
import socket
import sys
import threading
from importlib import import_module

# The suites' modules are in the source tree, which must not be written to.
sys.dont_write_bytecode = True

SUITES = {"bfcl": "bfcl_suite", "agentdojo": "agentdojo_suite", "tau2": "tau2_suite"}
PROTOCOL = "2025-11-25"


def say(message):
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_tasks(suite):
    module = import_module(SUITES[suite])
    found = importlib.metadata.version(module.PACKAGE)
    say({"package": module.PACKAGE, "version": found, "expected": module.VERSION})
    if found == module.VERSION:
        for task in module.tasks():
            say(task)


def serve(name, control):
    suite, _, part = name.partition(".")
    server = import_module(SUITES[suite]).Server(part)
    turn = threading.Lock()
    threading.Thread(target=obey, args=(server, control, turn), daemon=True).start()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            with turn:
                say({"jsonrpc": "2.0", "id": request["id"], **answer(server, name, request)})


def answer(server, name, request):
    match request["method"]:
        case "initialize":
            info = {"name": name, "version": "1"}
            return {"result": {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": server.tools()}}
        case "tools/call":
            params = request["params"]
            # A tool's own exception is its answer, as in the suites' own harnesses.
            try:
                text, failed = server.call(params["name"], params.get("arguments") or {}), False
            except Exception as error:
                text, failed = str(error) or type(error).__name__, True
            return {"result": {"content": [{"type": "text", "text": text}], "isError": failed}}
        case method:
            return {"error": {"code": -32601, "message": f"{method} is not supported"}}


def obey(server, control, turn):
    with socket.socket(socket.AF_UNIX) as listener:
        if os.path.exists(control):
            os.unlink(control)
        listener.bind(control)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                order = json.loads(stream.readline())
                with turn:
                    reply = server.reset(order["reset"]) if "reset" in order else server.state()
                stream.write(json.dumps(reply, default=str) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--tasks":
        print_tasks(sys.argv[2])
    else:
        serve(sys.argv[1], sys.argv[2])
