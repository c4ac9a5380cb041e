#!/usr/bin/env python3
"""The steps of tests/wine/check: what mux, muxd, mux-worker and the fixture server do under Wine.

    tests/wine/steps.py PROGRAMS [--hostile]

PROGRAMS is the folder with the programs for Windows. With --hostile, all programs of tests/data/hostile run, and not
only a sample. The variables that Wine needs are set by tests/wine/check. Prints a line per step, and stops at the first
that fails.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WINE = "/usr/lib/wine/wine64"
TOP = Path(__file__).resolve().parents[2]
# A step that hangs is ended. The programs have shorter limits.
HANG = 180
# Programs whose parser needs more stack than there is. Elsewhere they end by a limit; under Wine, their thread ends and
# takes the worker with it.
WORKER_ENDS = {"cpu_51_chained_arrows", "cpu_51_chained_ifs"}
# One program of each kind: endless loops, microtasks and regular expressions, memory, the stack, long results, and what
# a program can reach.
HOSTILE_SAMPLE = [
    "cpu_33_spin", "cpu_34_microtasks", "cpu_37_regular_expression", "cpu_46_million_timers", "cpu_49_recursion",
    "cpu_51_nested_brackets", "memory_54_endless_push", "memory_55_one_gigabyte", "memory_56_json",
    "memory_57_string_doubling", "bridge_14_endless_proxy", "bridge_59_result_of_200_megabytes",
    "bridge_60_endless_stack", "bridge_62_argument_of_500_megabytes", "escape_11_thrown_proxy",
    "escape_25_what_is_absent", "state_76_1_leaves_traces", "state_76_2_finds_none",
]


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


def processes(name):
    """The pids of the programs of this build that run under this name."""
    pids = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if command[0].decode(errors="replace") == windows_path(PROGRAMS / name):
            pids.append(int(folder.name))
    return pids


class Output:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __repr__(self):
        return f"exit code {self.code}\n{self.stdout[-2000:]}\n{self.stderr[-2000:]}"

    def ok(self):
        expect(self.code == 0, f"the command failed: {self}")
        return self.stdout.strip()

    def fails(self, code, *parts):
        expect(self.code == code, f"it must fail with {code}: {self}")
        for part in parts:
            expect(part in self.stderr, f"it must say {part!r}: {self}")

    def json(self):
        try:
            return json.loads(self.stdout)
        except ValueError:
            raise Failure(f"no document: {self}") from None


class Home:
    """A home of mux, and the commands in it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = dict(os.environ, MUX_HOME=windows_path(folder))

    def begin(self, *args, **streams):
        program = [WINE, str(PROGRAMS / "mux.exe"), *args]
        return subprocess.Popen(program, env=self.environment, **streams)

    def mux(self, *args, input=""):
        """Runs a command. Its output goes to files: Wine passes a client's standard error on to the daemon, so that a
        pipe would stay open."""
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin.write(input.encode())
            stdin.seek(0)
            process = self.begin(*args, stdin=stdin, stdout=out, stderr=err)
            try:
                code = process.wait(HANG)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Failure(f"`mux {' '.join(args)}` did not end within {HANG} s") from None
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace").replace("\r\n", "\n"))
            return Output(code, *texts)

    def daemon(self):
        """The pid of the daemon in Windows, from the record beside its lock."""
        return json.loads((self.folder / "state/muxd.owner").read_text().splitlines()[0])["pid"]

    def write_config(self, text):
        (self.folder / "config.toml").write_text(text)

    def run(self, code, *args):
        return self.mux("--json", "run", *args, "-e", code).json()

    def still_works(self):
        document = self.run("return 6 * 7")
        expect(document.get("result") == 42, f"the next program does not run: {document}")


def entry(name, *args, more=""):
    """An entry of config.toml with the fixture server."""
    words = ", ".join(f"'{word}'" for word in args)
    command = windows_path(PROGRAMS / "mux-fixture-server.exe")
    return f"[servers.{name}]\ncommand = '{command}'\nargs = [{words}]\n{more}\n"


def step(text):
    print(f"ok  {text}", flush=True)


def start_race(home):
    expect("engine quickjs" in home.mux("--version").ok(), "mux --version names no engine")
    step("mux --version")
    null = subprocess.DEVNULL
    with tempfile.TemporaryFile() as err:
        racers = [home.begin("servers", stdin=null, stdout=null, stderr=err) for _ in range(5)]
        codes = [racer.wait(HANG) for racer in racers]
        err.seek(0)
        said = err.read().decode(errors="replace")
    expect(not any(codes), f"a client of the start race failed: exit codes {codes}\n{said}")
    expect(len(processes("muxd.exe")) == 1, "the start race gave several daemons")
    step("five clients start one daemon")
    # The client waits for the startup lock, which a worker of the daemon would hold if it had inherited it.
    with tempfile.TemporaryFile() as out:
        second = [WINE, str(PROGRAMS / "muxd.exe")]
        subprocess.run(second, env=home.environment, stdin=null, stdout=out, timeout=HANG, check=True)
        out.seek(0)
        said = out.read().decode(errors="replace")
    expect("is already running" in said, f"a second muxd says: {said}")
    step("a second daemon finds the first")
    home.still_works()
    step("a program")


def server(home):
    command = windows_path(PROGRAMS / "mux-fixture-server.exe")
    home.mux("servers", "add", "fix", "--", command).ok()
    expect("over" in home.mux("call", "fix.echo", "text=over").ok(), "the call did not return its text")
    step("a server and a call")
    before = home.daemon()
    subprocess.run([WINE, "taskkill", "/F", "/PID", str(before)], capture_output=True, check=False)
    expect("again" in home.mux("call", "fix.echo", "text=again").ok(), "no call after the daemon was killed")
    expect(home.daemon() != before, "the daemon was not killed")
    expect(len(processes("mux-fixture-server.exe")) == 1, "the server of the killed daemon is still there")
    step("a killed daemon leaves no server, and the next one serves")


def faults(home):
    soon = "start_timeout = '4s'"
    home.write_config(
        entry("fix")
        + entry("slow", "--slow-start", "1500")
        + entry("noisy", "--noise-at-start", "5", "--stderr-at-start", "3")
        + entry("exits", "--exit-at-start", "7")
        + entry("mute", "--mute", "--ignore-eof", more=soon)
        + entry("rubbish", "--rubbish", more=soon)
    )
    home.mux("reload").ok()
    for name in ("slow", "noisy"):
        expect("up" in home.mux("call", f"{name}.echo", "text=up").ok(), f"{name}: no answer")
    step("a saved configuration; servers that start slowly and print noise")
    for name, part in (
        ("exits", "exit code 7"),
        ("mute", "start_timeout"),
        ("rubbish", "start_timeout"),
    ):
        said = home.mux("call", f"{name}.echo", "text=x")
        said.fails(3, f"the server `{name}` cannot be started", part)
    step("servers that end at once, say nothing or print rubbish: the error names it")
    for tool, code, part in (
        ("die_before", 6, "exit code 70"),
        ("die_mid", 6, "unknown_outcome"),
        ("die_after", 0, ""),
        ("garbage", 0, ""),
        ("hang", 124, "did not answer within 1s"),
    ):
        more = ["--timeout", "1s"] if tool == "hang" else []
        home.mux("call", f"fix.{tool}", *more).fails(code, part)
        expect("next" in home.mux("call", "fix.echo", "text=next").ok(), f"no call after {tool}")
    step("a server that dies, hangs or prints garbage in a call; the next call works")
    home.write_config(entry("fix"))
    home.mux("reload").ok()


def over_http(home):
    command = [WINE, str(PROGRAMS / "mux-fixture-server.exe"), "--http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as remote:
        try:
            port = int(remote.stdout.readline())
            home.mux("servers", "add", "web", "--url", f"http://127.0.0.1:{port}/mcp").ok()
            expect("wired" in home.mux("call", "web.echo", "text=wired").ok(), "no answer over HTTP")
            home.mux("servers", "remove", "web").ok()
        finally:
            remote.send_signal(signal.SIGKILL)
    step("a server over HTTP")


def secret(home):
    # A separate home has its secrets in a file, unless it selects the keyring.
    guarded = entry("guarded", more="env = { TOKEN = '<${keyring:WINE}>' }")
    home.write_config("[daemon]\nkeyring = 'auto'\n" + entry("fix") + guarded)
    home.mux("reload").ok()
    home.mux("call", "guarded.env", "name=TOKEN").fails(3, "mux secrets set WINE")
    home.mux("secrets", "set", "WINE", input="s3cret\n").ok()
    listed = json.dumps(home.mux("--json", "secrets").json())
    expect('"place": "keyring"' in listed and "s3cret" not in listed, f"the list of secrets: {listed}")
    value = home.mux("call", "guarded.env", "name=TOKEN").ok()
    expect("<s3cret>" in value, f"the server did not get the secret: {value}")
    kept = [path for path in home.folder.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    kept = [path for path in kept if "results" not in path.parts]
    home.mux("secrets", "remove", "WINE").ok()
    home.mux("call", "guarded.env", "name=TOKEN").fails(3, "mux secrets set WINE")
    expect(not kept, f"the secret is in {kept}")
    step("a secret in the Credential Manager: stored, given to a server, removed")


def npm_shim(home):
    shims = home.folder / "shims"
    shims.mkdir()
    program = windows_path(PROGRAMS / "mux-fixture-server.exe")
    # As npm writes them: a script for Windows, and one for Unix shells beside it.
    (shims / "shim.cmd").write_text(f'@ECHO off\r\n"{program}" %*\r\n')
    (shims / "shim").write_text('#!/bin/sh\nexit 1\n')
    path = f"{windows_path(shims)};C:\\windows\\system32"
    text = f"[servers.shim]\ncommand = 'shim'\nargs = ['--name', 'a b']\nenv = {{ PATH = '{path}' }}\n"
    home.write_config(entry("fix") + text)
    home.mux("reload").ok()
    before = len(processes("mux-fixture-server.exe"))
    expect("shimmed" in home.mux("call", "shim.echo", "text=shimmed").ok(), "the shim did not answer")
    expect(len(processes("mux-fixture-server.exe")) == before + 1, "the shim started no server")
    home.write_config(entry("fix"))
    home.mux("reload").ok()
    wait_until(lambda: len(processes("mux-fixture-server.exe")) == before, "the shim's server outlives its entry")
    step("a shim as npm installs it (.cmd), found by PATHEXT; its whole tree ends")


def node(home, script, *args):
    """Runs a module with Node for Windows. Output goes to files: Node cannot write to the pipes that Wine passes on."""
    source = home.folder / "module.mjs"
    source.write_text(script)
    program = [WINE, os.environ["MUX_TEST_WINDOWS_NODE"], windows_path(source), *args]
    environment = dict(home.environment, MUX_DAEMON=windows_path(PROGRAMS / "muxd.exe"))
    with tempfile.TemporaryFile() as out:
        ended = subprocess.run(
            program, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=HANG, check=False
        )
        out.seek(0)
        return Output(ended.returncode, out.read().decode(errors="replace"), "")


def left_out(*variables):
    missing = [name for name in variables if not os.environ.get(name)]
    return f"left out: {', '.join(missing)} not set by scripts/setup" if missing else None


def typescript_client(home):
    """client/typescript in Node for Windows: over the named pipe, and as the one who starts the daemon."""
    if reason := left_out("MUX_TEST_WINDOWS_NODE", "MUX_TEST_TSC", "MUX_TEST_EDITORS"):
        step(f"client/typescript: {reason}")
        return
    folder = home.folder / "editors"
    subprocess.run([TOP / "scripts/editors", folder], check=True, stdout=subprocess.DEVNULL)
    script = """
        import { Mux } from "./editors/node_modules/@muxd/client/dist/index.js";
        const mux = new Mux({ name: "wine", version: "0" });
        const called = await mux.call("fix.echo", { text: "piped" });
        const run = await mux.run("return await mux.fix.add({ a: 40, b: 2 })");
        console.log(JSON.stringify([called, await run.result(), (await mux.status())?.pid]));
        mux.close();
    """
    for daemon in ("that runs", "that it starts"):
        answered = node(home, script).ok()
        expect("piped" in answered and "42" in answered, f"the daemon {daemon}: {answered}")
        expect(str(home.daemon()) in answered, f"the daemon {daemon} is another one: {answered}")
        home.still_works()
        home.mux("stop").ok()
    step("client/typescript: a call and a program over the pipe, with a daemon that runs and one that it starts")


def npm_server(home):
    """A server of npm in Node for Windows, started through a shim as npm writes it."""
    if reason := left_out("MUX_TEST_WINDOWS_NODE", "MUX_TEST_SERVERS_NPM"):
        step(f"a server of npm: {reason}")
        return
    package = Path(os.environ["MUX_TEST_SERVERS_NPM"]).parent / "@modelcontextprotocol/server-everything"
    program = windows_path(os.environ["MUX_TEST_WINDOWS_NODE"])
    shims = home.folder / "shims"
    (shims / "everything.cmd").write_text(f'@ECHO off\r\n"{program}" "{windows_path(package / "dist/index.js")}" %*\r\n')
    path = f"{windows_path(shims)};C:\\windows\\system32"
    text = f"[servers.everything]\ncommand = 'everything'\nargs = ['stdio']\nenv = {{ PATH = '{path}' }}\n"
    home.write_config(entry("fix") + text)
    home.mux("reload").ok()
    expect("hello" in home.mux("call", "everything.echo", "message=hello").ok(), "no answer of server-everything")
    home.write_config(entry("fix"))
    home.mux("reload").ok()
    step("a server of npm (server-everything) in Node for Windows")


def wait_until(done, message):
    end = time.monotonic() + HANG
    while not done():
        expect(time.monotonic() < end, message)
        # The next look at /proc or a file, because no event is reported.
        time.sleep(0.1)


def saved_file_is_noticed(home):
    home.write_config(entry("fix") + entry("added"))
    names = lambda: [server["name"] for server in home.mux("--json", "servers").json()]
    wait_until(lambda: "added" in names(), "a saved configuration is not noticed without `mux reload`")
    good = (home.folder / "config.toml").read_text()
    home.write_config(good + "[servers.")
    expect(home.mux("reload").code != 0, "a broken configuration is accepted")
    expect("kept" in home.mux("call", "added.echo", "text=kept").ok(), "the last good configuration is not in force")
    home.write_config(entry("fix"))
    home.mux("reload").ok()
    step("a saved configuration is noticed; a broken one changes nothing")


def agent(home):
    """`mux mcp`, as an agent starts it."""
    process = home.begin("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(number, method, params):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == number and "method" not in answer:
                expect("result" in answer, f"{method}: {line}")
                return answer["result"]
        raise Failure(f"mux mcp ended without an answer to {method}")

    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wine", "version": "0"}}
        expect(ask(1, "initialize", hello)["serverInfo"]["name"], "mux mcp has no name")
        process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        tools = [tool["name"] for tool in ask(2, "tools/list", {})["tools"]]
        expect("run" in tools and "call" in tools, f"the tools of mux mcp: {tools}")
        called = ask(3, "tools/call", {"name": "call", "arguments": {"path": "fix.echo", "args": {"text": "hi"}}})
        expect("hi" in json.dumps(called) and not called.get("isError"), f"the call: {called}")
        ran = ask(4, "tools/call", {"name": "run", "arguments": {"code": "return await mux.fix.add({ a: 40, b: 2 })"}})
        expect("42" in json.dumps(ran) and not ran.get("isError"), f"the program: {ran}")
        process.stdin.close()
        expect(process.wait(HANG) == 0, "mux mcp did not end with its input")
    finally:
        process.kill()
        process.stdout.close()
    step("mux mcp: initialize, tools/list, a call, a program, the end of its input")


def hostile(home, names):
    """Runs programs of tests/data/hostile, whose heads are described in tests/it/hostile/case.rs."""
    home.write_config(
        entry("fix") + entry("my-server", "--collide") + "[[policy]]\nmatch = 'fix.side_effect'\naction = 'deny'\n"
    )
    home.mux("reload").ok()
    daemon, problems, ran = home.daemon(), [], 0
    for name in names:
        lines = (TOP / "tests/data/hostile" / f"{name}.ts").read_text().splitlines()
        size = next((n for n, line in enumerate(lines) if not line.startswith("// ")), len(lines))
        head = [line[3:].partition(": ")[::2] for line in lines[:size]]
        code = "\n".join(lines[size:])
        for word, rest in head:
            if word == "expand":
                mark, count, text = rest.split(" ", 2)
                code = code.replace(mark, text * int(count))
        if any(word == "engine" and rest != "quickjs" for word, rest in head):
            continue
        must = [rest for word, rest in head if word == "must on quickjs"]
        must = must or [rest for word, rest in head if word == "must"]
        args = [arg for word, rest in head if word == "args" for arg in rest.split(" ")] or ["--timeout", "120s"]
        source = home.folder / "hostile.ts"
        source.write_text(code)
        document = home.mux("--json", "run", windows_path(source), *args).json()
        ran += 1
        error = document.get("error")
        end = f"error {error['kind']}" if error else document.get("result")
        allowed = [json.loads(rest[7:]) if rest.startswith("result ") else rest for rest in must]
        if name in WORKER_ENDS:
            allowed.append("error internal")
        if end not in allowed:
            problems.append(f"{name} must end with one of {allowed}, and not: {json.dumps(document)[:600]}")
        home.still_works()
        if home.daemon() != daemon:
            problems.append(f"{name} ended the daemon")
            daemon = home.daemon()
    expect(not problems, "\n".join(problems))
    step(f"{ran} hostile programs end as they must, and the next program runs")


def closed_pipe(home):
    for args in (["status"], ["servers"], ["--json", "status"], ["logs"], ["logs", "--follow"], ["help"]):
        reader, writer = os.pipe()
        os.close(reader)
        with tempfile.TemporaryFile() as err:
            process = home.begin(*args, stdin=subprocess.DEVNULL, stdout=writer, stderr=err)
            os.close(writer)
            code = process.wait(HANG)
            err.seek(0)
            said = err.read().decode(errors="replace")
        expect(code == 0 and said == "", f"`mux {' '.join(args)}` into a closed pipe: exit code {code}\n{said}")
    step("a closed pipe ends a command without an error")


def restart(home):
    before = home.daemon()
    home.mux("restart").ok()
    expect(home.daemon() != before, "mux restart started no daemon")
    expect("back" in home.mux("call", "fix.echo", "text=back").ok(), "no call after the restart")
    home.mux("restart", "--upgrade").fails(1, "works on Linux", "mux restart")
    home.still_works()
    step("mux restart; --upgrade is refused")


def doctor(home):
    # Running processes are also checked.
    home.still_works()
    said = home.mux("doctor")
    expect("panicked" not in said.stderr and "quickjs" in said.stdout, f"mux doctor: {said}")
    planned = home.mux("--json", "service", "install", "--dry-run").json()
    task = planned["files"][0]["text"]
    expect("muxd.exe" in task and "MUX_HOME" in task, f"the planned task: {planned}")
    expect(planned["ran"][0].startswith("schtasks /Create"), f"the planned commands: {planned}")
    step("mux doctor; the task that mux service install would register")


def end(home):
    home.mux("stop").ok()
    for program in ("muxd.exe", "mux-worker.exe", "mux-fixture-server.exe"):
        wait_until(lambda: not processes(program), f"{program} outlives the daemon")
    step("mux stop leaves no process")


def main():
    names = sorted(path.stem for path in (TOP / "tests/data/hostile").glob("*.ts"))
    sample = names if "--hostile" in sys.argv else HOSTILE_SAMPLE
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        try:
            start_race(home)
            server(home)
            faults(home)
            over_http(home)
            secret(home)
            npm_shim(home)
            npm_server(home)
            saved_file_is_noticed(home)
            agent(home)
            closed_pipe(home)
            restart(home)
            typescript_client(home)
            doctor(home)
            hostile(home, sample)
            end(home)
        except Failure as failure:
            sys.exit(f"tests/wine/check: {failure}")
        finally:
            home.mux("stop", "--now")


PROGRAMS = Path(sys.argv[1]).resolve()
if __name__ == "__main__":
    main()
