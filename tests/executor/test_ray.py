"""Ray: what is done with what it answers (a made-up one), and real clusters where Ray is installed."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import pytest

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError
from shiftbench.io import executor
from shiftbench.io.executor import Executor, Job, node_probe, ray, ray_driver
from shiftbench.io.executor.child import Child
from tests.executor import made_work
from tests.executor.test_executor import squares, written


class MadeUpRay:
    """Ray's few functions that are used, in this process."""

    class exceptions:
        class RayError(Exception):
            pass

    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda module: None)
    _private = SimpleNamespace(services=SimpleNamespace(find_bootstrap_address=lambda folder: None))

    def __init__(self, *, dying=None, resources=None, answers=None):
        self.dying, self.resources, self.answers = dying, resources or [{"CPU": 2.0}], answers or {}
        self.most, self.initialized, self.joined = 0, False, 0

    def is_initialized(self):
        return self.initialized

    def init(self, **settings):
        assert not self.initialized
        self.settings, self.initialized, self.joined = settings, True, self.joined + 1

    def cluster_resources(self):
        return {"CPU": 2.0}

    def nodes(self):
        return [
            {"Alive": True, "NodeID": f"{place}", "NodeManagerHostname": f"host{place}",
             "NodeManagerAddress": f"10.0.0.{place}", "Resources": held}
            for place, held in enumerate(self.resources)
        ]  # fmt: skip

    def remote(self, **options):
        def made(function):
            self.asked = options
            on = getattr(options.get("scheduling_strategy"), "node_id", None)
            return SimpleNamespace(remote=lambda *arguments: (function, on, *map(_frozen, arguments)))

        return made

    def wait(self, references, *, num_returns):
        self.most = max(self.most, len(references))
        return references[-1:], references[:-1]

    def get(self, reference, timeout=None):
        function, on, *arguments = reference
        if on in self.answers:
            return self.answers[on]
        if self.dying is not None and self.dying == arguments[-1]:
            raise self.exceptions.RayError("The worker died.\nAnd more.")
        return function(*arguments)

    def shutdown(self):
        self.initialized = False


def _frozen(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.fixture
def drive(monkeypatch):
    """Runs the driver on a made-up Ray; returns what it told."""

    def made(ray_, **told):
        strategies = SimpleNamespace(
            NodeAffinitySchedulingStrategy=lambda node_id, soft: SimpleNamespace(node_id=node_id)
        )
        known = {"ray": ray_, "ray.util.scheduling_strategies": strategies}
        monkeypatch.setattr(ray_driver, "import_module", known.__getitem__)
        usual = {"work": "a:b", "argument": "", "items": 0, "shared": [], "workers": None, "gpus": 0, "address": None}
        lines = []
        ray_driver.drive({**usual, **told}, lines.append)
        return lines

    return made


def test_ray_is_given_no_more_than_it_can_start(drive, tmp_path):
    made = MadeUpRay()
    told = drive(made, work=made_work.SQUARE, argument=str(tmp_path), items=20)
    assert written(tmp_path) == squares(20)
    assert [line[0] for line in told] == ["loaded", "ready", *["reply"] * 20, "done"]
    assert made.most == 2 * ray_driver.AHEAD
    assert made.settings["_node_ip_address"] == "127.0.0.2"
    assert (made.asked["num_gpus"], made.asked["max_retries"]) == (0, ray_driver.RETRIES)


def test_a_second_job_finds_the_cluster_joined_and_none_leaves_it(drive, tmp_path):
    made = MadeUpRay()
    for address in (None, "head:1"):
        for items in (1, 2):
            drive(made, work=made_work.SQUARE, argument=str(tmp_path), items=items, address=address)
        left = []
        ray_driver.drive(None, left.append)
        assert (left, made.initialized) == ([["done"]], False)
    assert made.joined == 2


def test_a_cluster_of_others_is_given_no_number_of_cores_and_no_more_items_than_workers(drive, tmp_path):
    made = MadeUpRay()
    drive(made, work=made_work.SQUARE, argument=str(tmp_path), items=9, workers=3, address="head:1")
    assert written(tmp_path) == squares(9)
    assert made.settings["address"] == "head:1"
    assert "num_cpus" not in made.settings
    assert made.most == 3


def test_problems_come_back_from_ray(drive, tmp_path):
    told = drive(MadeUpRay(), work=made_work.PICKY, argument=str(tmp_path), items=2)
    (bad,) = [line for line in told if line[0] == "reply" and line[2]]
    assert "input 1: expected an even number" in bad[2][0]
    told = drive(MadeUpRay(dying=2), work=made_work.SQUARE, argument=str(tmp_path), items=3)
    assert ["reply", 2, ("RayError: The worker died.",), "failure"] in told


def test_nodes_that_lack_the_package_or_the_folder_are_refused_by_name(drive, tmp_path):
    two = [{"CPU": 1.0}, {"CPU": 1.0}]
    other = {"version": "0.1", "python": "/opt/python", "missing": [str(tmp_path)]}
    made = MadeUpRay(resources=two, answers={"1": other})
    told = drive(made, shared=[str(tmp_path)], address="head:1")
    (_, (refused, problems)) = told
    assert refused == "refused"
    assert not made.initialized
    assert problems[0].startswith("node host1 (10.0.0.1): expected shiftbench ")
    assert "found 0.1 for /opt/python. Install the same version there" in problems[0]
    assert problems[1].startswith(f"node host1 (10.0.0.1): expected to see the folder {tmp_path} of this machine")
    assert len(problems) == 2
    assert not list(tmp_path.iterdir())


def test_a_cluster_without_enough_gpus_or_cores_is_refused(drive):
    told = drive(MadeUpRay(resources=[{"CPU": 1.0, "GPU": 1.0}]), gpus=2, address="head:1")
    assert "expected a node with 2 GPUs for each job, found none in the cluster" in told[-1][1][0]
    told = drive(MadeUpRay(resources=[{}]), address="head:1")
    assert "expected a node with CPUs, found none" in told[-1][1][0]


def test_a_folder_of_the_same_name_on_another_disk_is_not_shared(tmp_path):
    mark = tmp_path / "mark"
    assert node_probe.look([str(tmp_path)], str(mark))["missing"] == [str(tmp_path)]
    mark.touch()
    assert node_probe.look([str(tmp_path), str(tmp_path / "data")], str(mark))["missing"] == [str(tmp_path / "data")]


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(ray, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"shiftbench\[ray\]"):
        executor.run(Job(made_work.SQUARE, str(tmp_path), 1), Executor("ray"))


def test_an_unreachable_address_is_refused_within_seconds(monkeypatch, tmp_path):
    monkeypatch.setattr(ray, "find_spec", lambda name: SimpleNamespace())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start, job = time.monotonic(), Job(made_work.SQUARE, str(tmp_path), 1)
    with pytest.raises(SettingsError, match=rf"a cluster at 127\.0\.0\.1:{port}, found: .* `ray start --head`"):
        executor.run(job, Executor("ray", address=f"127.0.0.1:{port}"))
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(SettingsError, match=rf"expected a cluster at 127\.0\.0\.1:{port}"):
        executor.run(job, Executor("ray"))
    assert time.monotonic() - start < 2 * ray.REACHED


# --- real clusters ----------------------------------------------------------------------------------------------------


@pytest.fixture
def real_ray():
    pytest.importorskip("ray")


def test_something_that_is_no_cluster_is_refused(real_ray, monkeypatch, tmp_path):
    monkeypatch.setattr(ray, "JOINED", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(SettingsError, match=f"executor ray: expected a cluster at {address}, found"):
            executor.run(Job(made_work.SQUARE, str(tmp_path), 1), Executor("ray", address=address))


def test_a_cluster_says_nothing_does_a_killed_item_again_and_is_kept_for_a_block_unless_broken(
    real_ray, monkeypatch, capfd, tmp_path
):
    made = []
    monkeypatch.setattr(ray, "Child", lambda *words, **named: made.append(Child(*words, **named)) or made[-1])
    where = Executor.of("ray=local", workers=2)
    with executor.using(where):
        executor.run(Job(made_work.ONCE, str(tmp_path), 4), where)
        assert {name: text for name, text in written(tmp_path).items() if name != "killed"} == squares(4)
        (tmp_path / "killed").unlink()
        executor.run(Job(made_work.SQUARE, str(tmp_path), 6), where)
        assert written(tmp_path) == squares(6)
        assert len(made) == 1
        with pytest.raises(ShiftbenchError, match="No space left on device"):
            executor.run(Job(made_work.BROKEN, str(tmp_path), 1), where)
        executor.run(Job(made_work.SQUARE, str(tmp_path), 7), where)
        assert len(made) == 2
    assert written(tmp_path) == squares(7)
    assert capfd.readouterr() == ("", "")
    assert [driver.process.poll() is not None for driver in made] == [True, True]
