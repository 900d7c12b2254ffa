"""The floors of docs/design.md, held: imports go down only, numbers stay pure, only the door speaks.

Every rule reads the source with `ast`, so that an import inside a function counts like one at the top.
"""

from __future__ import annotations

import ast
import csv
import gc
import graphlib
import json
import re
import statistics
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "shiftbench"
DOORS = {"cli", "__main__"}
# Pure numbers may know numpy, the checks and errors, each other, and these parts of the standard library.
NUMBERS = {"scores", "ensembles", "metrics", "measures"}
PURE = {
    "__future__", "typing", "collections", "collections.abc", "dataclasses", "functools", "itertools", "math",
    "numbers", "operator", "types", "warnings", "enum", "abc", "contextlib", "copy", "statistics", "concurrent.futures",
    "inspect",
}  # fmt: skip
MAKERS = {"Method", "boosted", "of_networks", "batched", "_plain"}  # what makes a method
TRACKS = {"weather", "power", "motion", "translation", "lesion", "lesions"}
FIELDS = {"shiftbench.metrics.motion", "shiftbench.metrics.translation"}  # named after a field, not after a track
WORDS = {  # rooms whose field has a word that is a track's name, too
    ("shiftbench.ensembles", "shiftbench.measures", "shiftbench.metrics.segmentation"): {"lesion", "lesions"},
}
NUMBER = "power"  # what a variable may be called, but no text and no module


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package and its syntax tree."""
    gc.disable()  # none of them is garbage, and looking for some takes as long as parsing
    try:
        return {module_of(path): ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    finally:
        gc.enable()


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def called(call: ast.Call) -> str:
    """What is called, as it is written."""
    match call.func:  # the usual ones at once: to unparse takes long
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name(name), attribute):
            return f"{name}.{attribute}"
    return ast.unparse(call.func)


@cache
def imported(name: str, tree: ast.Module) -> set[str]:
    """What a module imports; of this package the modules themselves, whichever way they are written."""
    found = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports relatively: write the whole name"
            base = str(node.module)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in modules() else base)
    return found


@cache
def inner_imports(name: str) -> set[str]:
    """Modules of this package that a module imports. The root counts only for names that are no modules."""
    inner = {found for found in imported(name, modules()[name]) if found.split(".")[0] == "shiftbench"}
    return inner - {name}


def room(name: str) -> str:
    """`shiftbench.metrics.regression` is in the room `metrics`; the root is in no room."""
    return [*name.split("."), ""][1]


@cache
def floors() -> dict[str, int]:
    """The table of rooms in docs/design.md."""
    table = re.findall(r"^\| (\d+) \| ([^|]*) \|", (ROOT / "docs/design.md").read_text("utf-8"), re.MULTILINE)
    named = {word.strip("/"): int(floor) for floor, rooms in table for word in re.findall(r"`([^`]+)`", rooms)}
    return named | {"__main__": named["cli"]}


def floor(name: str) -> int | None:
    return floors().get(room(name))


def test_the_design_page_names_every_room():
    rooms = {room(name) for name in modules()} - {""}
    assert sorted(rooms - floors().keys()) == [], "add these rooms to the table of floors in docs/design.md"


def test_imports_go_down_only():
    wrong = []
    for name in modules():
        for found in inner_imports(name) - {"shiftbench"}:
            above, below = floor(found), floor(name)
            if above is not None and below is not None and above > below:
                wrong.append(f"{name} (floor {below}) imports {found} (floor {above})")
    assert not wrong


def test_nothing_imports_the_root_but_for_its_version():
    wrong = []
    for name, tree in modules().items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "shiftbench":
                names = {alias.name for alias in node.names if f"shiftbench.{alias.name}" not in modules()}
                if names - {"__version__"} and room(name) not in DOORS:
                    wrong.append(f"{name} imports {sorted(names)} from the root")
    assert not wrong


def test_there_is_no_import_cycle():
    graph = {name: inner_imports(name) - {"shiftbench"} for name in modules() if name != "shiftbench"}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_method_imports_another():
    def is_method(tree: ast.Module) -> bool:
        made = [node.value for node in tree.body if isinstance(node, ast.Assign)]
        return any(isinstance(value, ast.Call) and ast.unparse(value.func) in MAKERS for value in made)

    methods = {name for name, tree in modules().items() if is_method(tree)}
    assert not {(name, other) for name in methods for other in inner_imports(name) & methods}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_numbers_import_numpy_only(name):
    whole = f"shiftbench.{name}"
    own = [entry for entry in modules() if entry == whole or entry.startswith(whole + ".")]
    assert own, f"{whole} is not there"
    below = {
        "shiftbench.argument",
        "shiftbench.errors",
        "shiftbench.check",
        "shiftbench.registry",
        "shiftbench.components",
    }
    for entry in own:
        for found in imported(entry, modules()[entry]):
            numeric = found == "numpy" or found.startswith("numpy.")
            number = found.startswith("shiftbench.") and room(found) in NUMBERS
            assert numeric or number or found in PURE | below, f"{entry} imports {found}"


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_numbers_read_no_file_and_no_global_random_state(name):
    for entry, tree in modules().items():
        if room(entry) != name:
            continue
        for node in nodes(tree):
            if isinstance(node, ast.Call):
                act = called(node)
                assert act not in {"open", "input", "np.load", "np.save", "np.loadtxt", "np.memmap"}, entry
                assert not re.fullmatch(r"np\.random\.(?!default_rng|Generator|PCG64|SeedSequence).*", act)


def test_only_the_door_prints_logs_and_exits():
    wrong = []
    for name, tree in modules().items():
        if room(name) in DOORS:
            continue
        if {"logging", "argparse", "typer"} & imported(name, tree):
            wrong.append(f"{name} imports what only the door may")
        for node in nodes(tree):
            spoken = called(node) if isinstance(node, ast.Call) else ""
            if spoken in {"print", "exit", "quit", "sys.exit", "sys.stdout.write", "sys.stderr.write"}:
                wrong.append(f"{name}:{node.lineno} calls {spoken}")
            if isinstance(node, ast.Raise) and any(
                isinstance(each, ast.Name) and each.id == "SystemExit" for each in ast.walk(node)
            ):
                wrong.append(f"{name}:{node.lineno} raises SystemExit")
    assert not wrong


@cache
def words(tree: ast.Module) -> set[str]:
    """The words of all names of a module and of its one-word texts; prose (docstrings, sources) may give examples."""
    found = set()
    for node in nodes(tree):
        for text in (getattr(node, key, None) for key in ("id", "attr", "arg", "name", "value")):
            if isinstance(text, str) and not re.search(r"\s", text):
                found |= set(re.findall(r"[a-z]+", text.lower()))
    return found


@cache
def texts(tree: ast.Module) -> tuple[str, ...]:
    return tuple(node.value for node in nodes(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def elsewhere() -> dict[str, ast.Module]:
    """The modules that belong to no track."""
    return {name: tree for name, tree in modules().items() if room(name) != "tracks"}


def test_no_module_outside_the_tracks_names_a_track():
    wrong = {}
    for name, tree in elsewhere().items():
        written = {
            word for text in texts(tree) if not re.search(r"\s", text) for word in re.findall("[a-z]+", text.lower())
        }
        paths = {part for path in imported(name, tree) - FIELDS for part in path.split(".")}
        own = set().union(*(theirs for rooms, theirs in WORDS.items() if name.startswith(rooms)))
        if found := (words(tree) - {NUMBER} | written | paths) & TRACKS - own:
            wrong[name] = found
    assert {name: found for name, found in wrong.items() if name not in FIELDS} == {}


def test_no_module_outside_the_tracks_imports_one():
    named = re.compile(r"shiftbench\.tracks\.\w")
    wrong = {
        name
        for name, tree in elsewhere().items()
        if any(map(named.match, imported(name, tree))) or any(map(named.match, texts(tree)))
    }
    assert not wrong


def test_no_track_imports_another():
    def track_of(name: str) -> str:
        parts = name.split(".")
        return parts[2] if parts[:2] == ["shiftbench", "tracks"] and len(parts) > 2 else ""

    pairs = {(name, found) for name, tree in modules().items() for found in imported(name, tree) if track_of(name)}
    pairs |= {
        (name, text)
        for name, tree in modules().items()
        for text in texts(tree)
        if track_of(name) and re.fullmatch(r"[\w.]+", text)
    }
    assert not {pair for pair in pairs if track_of(pair[1]) not in ("", track_of(pair[0]))}


def test_no_column_of_a_tracks_data_stands_outside_the_track():
    columns = {
        row["name"]
        for table in (PACKAGE / "tracks").glob("*/columns.csv")
        for row in csv.DictReader(table.read_text("utf-8").splitlines())
    }
    assert len(columns) > 100
    unmistakable = {name for name in columns if "_" in name or name != name.lower()}
    wrong = {}
    for name, tree in elsewhere().items():
        written = {word for text in texts(tree) for word in re.findall(r"\w+", text)} & unmistakable
        if found := written | columns.intersection(texts(tree)):
            wrong[name] = found
    assert not wrong


def fresh(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code: str) -> set[str]:
    out = fresh(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))")
    return {name.split(".")[0] for name in json.loads(out.splitlines()[-1])}


def test_importing_the_package_loads_nothing_heavy():
    heavy = {
        "torch",
        "pandas",
        "matplotlib",
        "catboost",
        "polars",
        "scipy",
        "sklearn",
        "rich",
        "typer",
        "jinja2",
    }
    assert not loaded_after("import shiftbench") & heavy


def test_asking_the_command_for_help_loads_nothing_heavy():
    code = (
        "import contextlib, sys\nsys.argv = ['shiftbench', '--help']\nfrom shiftbench.cli import main\n"
        "with contextlib.suppress(SystemExit): main()"
    )
    assert not loaded_after(code) & {"torch", "pandas", "matplotlib", "catboost", "polars"}


def test_importing_the_package_takes_little_more_than_importing_numpy():
    def seconds(code: str) -> float:
        start = time.perf_counter()
        fresh(code)
        return time.perf_counter() - start

    # Alternating, so that other work on the machine meets both.
    pairs = [(seconds("import shiftbench"), seconds("import numpy")) for _ in range(5)]
    assert statistics.median(ours / numpys for ours, numpys in pairs) < 2.5


def test_only_the_room_of_tables_hands_paths_to_polars():
    """By default polars takes `[ ] ? *` in a path for a pattern, and a leading `~` for the home folder."""
    opened = {"read_ipc", "read_ipc_schema", "read_ndjson", "read_parquet_metadata"}  # here given open files or bytes
    wrong = []
    for name, tree in modules().items():
        home = name.startswith("shiftbench.io.tables.")
        for node in nodes(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            of, act = ast.unparse(node.func.value), node.func.attr
            first = ast.unparse(node.args[0]) if node.args else ""
            if of == "pl" and re.match("(read|scan)_", act):
                literal = any(each.arg == "glob" and ast.unparse(each.value) == "False" for each in node.keywords)
                of_bytes = act == "read_csv" and (first == "data" or first.endswith("read_bytes()"))
                fine = (literal and (home or of_bytes)) or (home and act in opened)
            else:
                writes = re.fullmatch("(write|sink)_(parquet|csv|ipc|ndjson|json|avro|excel)", act)
                fine = not writes or of == "files" or first == "file"
            if not fine:
                wrong.append(f"{name}: {of}.{act}({first}); use `tables`, or for writing an open `file`")
    assert not wrong
