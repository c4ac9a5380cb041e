"""The host of pydantic-monty, as host.mjs is of the others; `monty.py --cases` prints the cases that Python can express.

Monty runs a subset of Python, so that a case of tests/data/hostile appears here under its name as what does the same in
Python, and those that are about JavaScript alone (prototypes, proxies, timers, buffers) do not.
"""

import json
import os
import sys
import threading
import time

DEEP = "nested = 0\nfor i in range(1000000):\n    nested = [nested]\n"
ESCAPE = """
found = []
for attempt in ATTEMPTS:
    try:
        found.append(attempt())
    except Exception as error:
        found.append(type(error).__name__)
found
"""


def chain(link: str, end: str = "1") -> str:
    return f"x = {link * 100000}{end}\n"


CASES = {
    "bridge_58_console_flood": 'line = "x" * 65536\nfor i in range(16384):\n    print(line)\n"done"',
    "bridge_59_result_cycle": "a = {}\na['b'] = {'a': a}\na",
    "bridge_59_result_lone_surrogate": '"\\ud800"',
    "bridge_59_result_of_200_megabytes": '"x" * 50000000',
    "bridge_60_long_message": 'raise Exception("m" * 1000000)',
    "cpu_33_spin": "while True:\n    pass",
    "cpu_35_await_nothing": "async def nothing():\n    pass\n\nwhile True:\n    await nothing()",
    "cpu_37_regular_expression": 'import re\nbool(re.match("^(a+)+$", "a" * 40 + "b"))',
    "cpu_38_includes": "-1 in range(0, 10 ** 18, 3) or sum(range(10 ** 15))",
    "cpu_40_json_parse": 'import json\nwhile True:\n    json.loads("[" + "1," * 2000000 + "1]")',
    "cpu_40_sort": "while True:\n    sorted([i * 7919 % 1000003 for i in range(7000000)])",
    "cpu_41_bigint": "n = 3\nwhile True:\n    n = n ** 3",
    "cpu_44_finally": "try:\n    while True:\n        pass\nexcept BaseException:\n    while True:\n        pass\nfinally:\n    while True:\n        pass",
    "cpu_46_interval": "import time\nwhile True:\n    time.sleep(0)",
    "cpu_47_nothing_pending": "import asyncio\nawait asyncio.sleep(1e9)",
    "cpu_49_recursion": "def deep():\n    return deep() + 1\n\ntry:\n    deep()\nexcept RecursionError:\n    pass\n'caught'",
    "cpu_50_deep_console": DEEP + "print(nested)\n'printed'",
    "cpu_50_deep_result": DEEP + "nested",
    "cpu_51_chained_arrows": chain("lambda a: "),
    "cpu_51_chained_assignments": "a = 0\n" + "a = " * 100000 + "1",
    "cpu_51_chained_negations": chain("not "),
    "cpu_51_chained_powers": chain("2 ** "),
    "cpu_51_chained_sums": chain("1 + "),
    "cpu_51_chained_ternaries": chain("1 if 0 else "),
    "cpu_51_long_source": '"' + "x" * 1100000 + '"',
    "cpu_51_nested_blocks": "".join(" " * i + "if 1:\n" for i in range(2000)) + " " * 2000 + "1",
    "cpu_51_nested_brackets": "[" * 100000 + "]" * 100000,
    "cpu_51_nested_parentheses": "(" * 100000 + "1" + ")" * 100000,
    "cpu_51_nested_templates": "f'{" * 1000 + "1" + "}'" * 1000,
    "cpu_79_coarse_clock": "import time\ntimes = [time.perf_counter() for i in range(100000)]\nmin([b - a for a, b in zip(times, times[1:]) if b > a] or [1]) > 0.0000099",
    "escape_01_function_constructor": "ATTEMPTS = [lambda: eval('1'), lambda: exec('1'), lambda: compile('1', '', 'eval'), lambda: type(lambda: 0).__call__]" + ESCAPE,
    "escape_02_reflection": "ATTEMPTS = [lambda: ().__class__.__base__.__subclasses__(), lambda: (lambda: 0).__globals__, lambda: (lambda: 0).__code__, lambda: print.__self__, lambda: [].append.__self__.__class__.__mro__]" + ESCAPE,
    "escape_03_runtime_handles": "ATTEMPTS = [lambda: globals(), lambda: vars(), lambda: __builtins__, lambda: __loader__, lambda: __spec__]" + ESCAPE,
    "escape_11_thrown_cycle": 'error = Exception("round")\nraise error from error',
    "escape_22_strings_as_code": "ATTEMPTS = [lambda: eval(\"open('@MARK', 'w').write('escaped')\"), lambda: exec(\"open('@MARK', 'w').write('escaped')\")]" + ESCAPE,
    "escape_23_dynamic_imports": "def writes():\n    import os\n    os.system('touch @MARK')\n\nATTEMPTS = [lambda: __import__('os').system('touch @MARK'), writes, lambda: open('@MARK', 'w').write('escaped')]" + ESCAPE,
    "escape_23_static_import": "import subprocess\nsubprocess.run(['touch', '@MARK'])",
    "escape_23_uncaught_import": "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "escape_24_import_attributes": "open('/etc/passwd').read()",
    "memory_54_endless_push": "kept = []\nwhile True:\n    kept.append({'a': len(kept)})",
    "memory_55_one_gigabyte": "len(b'1' * 2 ** 30)",
    "memory_55_typed_arrays": "kept = []\nwhile True:\n    kept.append(b'1' * 1048576)",
    "memory_56_doubles": "kept = []\nwhile True:\n    kept.append([1.5] * 2 ** 24)",
    "memory_56_flat_string": "kept = []\nwhile True:\n    kept.append(('x' * 2 ** 28).upper())",
    "memory_56_huge_array": "len([0] * (2 ** 32 - 1))",
    "memory_56_json": "import json\nlen(json.loads('[' + '[],' * 2 ** 24 + '[]]'))",
    "memory_57_map_and_closures": "kept = {}\ni = 0\nwhile True:\n    kept[i] = lambda: i\n    i += 1",
    "memory_57_string_doubling": "text = 'x'\nwhile True:\n    text += text",
    "state_76_1_leaves_traces": "left = 1\nlen = None\nprint = None\nException = None\n'soiled'",
}


def tell(message: dict) -> None:
    os.write(3, (json.dumps(message) + "\n").encode())


def main(program: str, after: str, milliseconds: str) -> None:
    import pydantic_monty

    limits = {"max_feed_duration_secs": int(milliseconds) / 1000, "max_memory": 128 << 20}
    with pydantic_monty.Monty() as pool:

        def end(source: str) -> dict:
            try:
                with pool.checkout(limits=limits) as session:
                    return {"value": repr(session.feed_run(source, print_callback=lambda stream, text: None))[:600]}
            except BaseException as error:  # a panic of the extension is none of Exception's
                return {"error": f"{type(error).__name__}: {error}"[:600]}

        def pulse() -> None:
            while True:
                tell({"tick": True})
                time.sleep(0.1)

        end("1")
        tell({"ready": True})
        threading.Thread(target=pulse, daemon=True).start()
        began = time.monotonic()
        for name, file in (("end", program), ("next", after)):
            with open(file, encoding="utf8", errors="surrogatepass") as source:
                tell({name: end(source.read())})
        # Checks whether any code still computes.
        if time.monotonic() - began >= int(milliseconds) / 1000:
            time.sleep(2)


if sys.argv[1] == "--cases":
    print(json.dumps({"cases": CASES, "next": "[len('a'), str(1), print is None]"}))
else:
    main(*sys.argv[1:])
