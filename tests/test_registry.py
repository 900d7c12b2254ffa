"""Registries: our own values, registered ones, and those of other packages, which are made up here."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import pytest

from shiftbench.errors import SettingsError, ShiftbenchWarning, UnknownNameError
from shiftbench.registry import Registry

GROUP = "shiftbench.tests"


@dataclass(frozen=True)
class Thing:
    name: str
    worth: int = 0


OWN = OWN_FIRST, OWN_SECOND = (Thing("first", 1), Thing("second", 2))


@pytest.fixture
def things():
    return Registry("thing", Thing, GROUP, homes=(f"{__name__}:OWN",))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a package of one module, whose entry points are name → reference."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(points: dict[str, str], *, group: str = GROUP, source: str = "", name: str = "elsewhere") -> None:
        text = "from tests.test_registry import Thing\n" if group == GROUP else ""
        (tmp_path / f"{name}.py").write_text(text + source)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{key} = {reference}" for key, reference in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()

    yield install
    sys.modules.pop("elsewhere", None)


def test_values_are_found_by_name_in_the_order_of_their_homes(things):
    assert things["second"].worth == 2
    assert list(things) == ["first", "second"]
    assert len(things) == 2
    assert things.get("third") is None
    assert things.get("first") is OWN[0]
    assert "third" not in things


def test_a_registered_value_is_the_last(things):
    own = things.register(Thing("third"))
    assert list(things.values()) == [*OWN, own]
    assert things.register(own) is own, "the same value again is no other one"


def test_a_name_is_registered_once_even_before_the_first_lookup(things):
    with pytest.raises(SettingsError, match="thing: expected a new name, found 'first', which is taken"):
        things.register(Thing("first"))


def test_an_unknown_name_is_told_the_nearest(things):
    with pytest.raises(UnknownNameError, match=r"Unknown thing 'fist'\. Did you mean 'first'"):
        things["fist"]


def test_a_registry_is_not_open_to_writing(things):
    with pytest.raises(TypeError, match="assignment"):
        things["third"] = Thing("third")


def test_nothing_of_another_package_is_imported_before_it_is_looked_up(things, package):
    package({"theirs": "elsewhere:THEIRS"}, source="THEIRS = Thing('theirs', 7)")
    assert things["first"].worth == 1
    assert "elsewhere" not in sys.modules
    assert things["theirs"].worth == 7
    assert list(things) == ["first", "second", "theirs"]


def test_lazy_values_and_those_of_other_packages_are_named_without_being_imported(package, tmp_path, monkeypatch):
    (tmp_path / "ours.py").write_text(
        "from tests.test_registry import Thing\nOURS, MORE = Thing('ours'), Thing('more')\n"
    )
    package({"theirs": "elsewhere:THEIRS"}, source="THEIRS = Thing('theirs', 7)")
    lazy = Registry("thing", Thing, GROUP, lazy={"ours": "ours:OURS", "gone": "ours:GONE", "more": "ours:MORE"})
    assert lazy.names() == ("ours", "gone", "more", "theirs")
    with pytest.raises(UnknownNameError, match="Did you mean 'theirs'"):
        lazy["theirss"]
    assert not {"ours", "elsewhere"} & sys.modules.keys()
    assert lazy["more"].name == "more"
    assert "elsewhere" not in sys.modules
    with pytest.raises(AttributeError, match="GONE"):
        lazy["gone"]  # ours: a bug, which keeps its traceback
    monkeypatch.delitem(sys.modules, "ours")


def test_lazy_values_come_in_their_own_order_whichever_is_looked_up_first():
    places = {thing.name: f"{__name__}:OWN_{thing.name.upper()}" for thing in OWN}
    lazy = Registry("thing", Thing, GROUP, lazy=places)
    assert lazy["second"] is OWN[1]
    assert list(lazy) == ["first", "second"]


def test_a_lazy_name_is_taken_before_it_is_imported():
    lazy = Registry("thing", Thing, GROUP, lazy={"first": f"{__name__}:OWN_FIRST"})
    with pytest.raises(SettingsError, match="found 'first', which is taken"):
        lazy.register(Thing("first", 9))


def test_a_package_with_a_damaged_list_of_entry_points_is_a_warning(things, package, tmp_path):
    package({"theirs": "elsewhere:THEIRS"})
    (tmp_path / "elsewhere-1.0.dist-info" / "entry_points.txt").write_text(f"[{GROUP}]\nno reference here\n")
    with pytest.warns(ShiftbenchWarning, match="lists that cannot be read"):
        assert list(things) == ["first", "second"]


def test_a_module_that_registers_what_its_entry_point_names_registers_it_once(package, monkeypatch):
    shared = Registry("thing", Thing, GROUP)
    monkeypatch.setitem(globals(), "shared", shared)
    package(
        {"theirs": "elsewhere:THEIRS"},
        source="from tests import test_registry\nTHEIRS = test_registry.shared.register(Thing('theirs', 7))",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [thing.worth for thing in shared.values()] == [7]


BROKEN = {
    "absent": ("nowhere_at_all:X", "absent = nowhere_at_all:X of elsewhere: ModuleNotFoundError"),
    "missing": ("elsewhere:X", "missing = elsewhere:X of elsewhere: AttributeError"),
    "number": ("elsewhere:NUMBER", "a int instead of a Thing"),
    "renamed": ("elsewhere:THEIRS", "its thing is called 'theirs'"),
    "first": ("elsewhere:FIRST", "first = elsewhere:FIRST of elsewhere: the name is taken"),
}
SOURCE = "NUMBER = 3\nTHEIRS = Thing('theirs')\nFIRST = Thing('first', 9)"


def test_all_entry_points_that_cannot_be_had_are_named_in_one_warning_and_the_rest_works(things, package):
    package(
        {name: reference for name, (reference, _) in BROKEN.items()} | {"theirs": "elsewhere:THEIRS"}, source=SOURCE
    )
    with pytest.warns(ShiftbenchWarning, match=f"^{GROUP}: expected entry points that load") as caught:
        assert list(things) == ["first", "second", "theirs"]
    assert len(caught) == 1
    assert all(problem in str(caught[0].message) for _, problem in BROKEN.values())
    assert things["first"].worth == 1, "ours, which was there before"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(things) == 3, "no second warning"


def test_a_package_that_ends_the_process_when_it_is_imported_is_a_warning_too(things, package):
    package({"theirs": "elsewhere:THEIRS"}, source="import sys; sys.exit('no licence.')")
    with pytest.warns(ShiftbenchWarning, match=r"SystemExit: no licence\. Everything else"):
        assert len(things) == 2


def test_a_command_works_beside_a_broken_package_and_says_so_once(package, tmp_path):
    package({"gone": "nowhere_at_all:X", "theirs": "elsewhere:X"}, group="shiftbench.metrics")
    table = "\n".join(["id,error,uncertainty", *(f"r{k},{k % 7},{k % 5}" for k in range(60))])
    (tmp_path / "table.csv").write_text(table + "\n")
    command = [sys.executable, "-m", "shiftbench", "assess", "table.csv", "--out", "report", "--replicates", "20"]
    places = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": places}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("gone = nowhere_at_all:X of elsewhere") == 1
    assert "entry points" not in (tmp_path / "report" / "report.json").read_text("utf-8"), "no matter of the scores"


@pytest.mark.parametrize(
    ("group", "source", "look_up"),
    [
        (
            "shiftbench.metrics",
            "from shiftbench.scores.metric import Metric\n"
            "THEIRS = Metric('theirs', 'Theirs', 'min', 'plain', 'x', 'y')",
            "from shiftbench.scores.metric import METRICS as known",
        ),
        (
            "shiftbench.measures",
            "from shiftbench.ensembles import Gaussian\nfrom shiftbench.measures import Measure\n"
            "THEIRS = Measure('theirs', 'Theirs', 'total', 'x', 'y', {Gaussian: lambda e: e.variance[0]})",
            "from shiftbench import MEASURES as known",
        ),
    ],
)
def test_metrics_and_measures_of_installed_packages_are_known(package, tmp_path, group, source, look_up):
    package({"theirs": "elsewhere:THEIRS", "gone": "nowhere_at_all:X"}, group=group, source=source)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{look_up}\n"
        "assert 'elsewhere' not in sys.modules\nprint(known['theirs'].title, list(known)[-1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["Theirs", "theirs"], done.stderr
    assert done.stderr.count("ShiftbenchWarning") == 1
    assert "gone = nowhere_at_all:X of elsewhere" in done.stderr
