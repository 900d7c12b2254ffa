"""The process that talks to Ray: joins or makes a cluster, checks its nodes, hands over items, and reports on each."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from shiftbench import __version__
from shiftbench.errors import SettingsError
from shiftbench.io.executor import child, node_probe
from shiftbench.io.executor import ray as parent
from shiftbench.io.executor.child import Tell, search_path
from shiftbench.io.executor.job import LOCAL, ONE_THREAD, Job, Reply, cores

LOOPBACK = "127.0.0.2"  # Ray takes 127.0.0.1 for an outside address; this one stays on the machine
AHEAD = 2  # items handed over for each core, so that none waits
RETRIES = 3  # of an item whose worker or node dies: an item writes whole files or none
ANSWERED = 60.0  # seconds in which a node answers
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def drive(request: dict[str, Any] | None, tell: Tell) -> None:
    """Do a job that `ray.replies` sends; replies are "loaded", "ready", a "reply" for each item, and "done".

    The connection stays for the next job; None ends it, and a cluster that was made here.
    """
    ray = import_module("ray")
    if request is None:
        ray.shutdown()
        tell(["done"])
        return
    address = _address(request["address"])
    tell(["loaded", address])
    if address or request["items"]:  # a cluster of our own would be as it should
        if problems := _joined(ray, address, request):
            ray.shutdown()
            tell(["refused", problems])
            return
        tell(["ready"])
        job = Job(request["work"], request["argument"], request["items"])
        for reply in _replies(ray, job, request["workers"] if address else None, request["gpus"]):
            tell(["reply", reply.number, reply.problems, reply.fatal, *reply.used])
    tell(["done"])


@cache
def _address(asked: str | None) -> str | None:
    """The address of an existing cluster; the same for all jobs of this process, which may start one itself."""
    return None if asked == LOCAL else asked or _started_here(import_module("ray"))


def _joined(ray: Any, address: str | None, request: dict[str, Any]) -> list[str]:
    """Join or make a cluster unless that is done; what keeps it from doing the job."""
    try:
        if not ray.is_initialized():
            _connect(ray, address, request["workers"])
    except (ConnectionError, ValueError, RuntimeError) as error:
        if ray.is_initialized():
            raise
        first = str(error).strip().splitlines()[0]
        return [f"executor ray: expected a cluster at {address}, found: {first} {parent.REMEDY}"]
    return _problems(ray, request, joined=bool(address))


def _started_here(ray: Any) -> str | None:
    """The address of the cluster that `ray start` started on this machine, if it still runs."""
    address: str | None = ray._private.services.find_bootstrap_address(None)
    if address:
        with suppress(SettingsError):
            parent.require_reachable(address)
            return address
    return None


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    if address:
        ray.init(address=address, runtime_env={"env_vars": ONE_THREAD}, **QUIET)
        return
    variables = {**ONE_THREAD, "PYTHONPATH": search_path()}
    ray.init(
        address=LOCAL, num_cpus=workers or cores(), include_dashboard=False, _node_ip_address=LOOPBACK,
        runtime_env={"env_vars": variables}, **QUIET,
    )  # fmt: skip


def _problems(ray: Any, request: dict[str, Any], *, joined: bool) -> list[str]:
    """Problems that keep the nodes of a cluster from running the job."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    if request["gpus"] and all(node["Resources"].get("GPU", 0) < request["gpus"] for node in nodes):
        return [
            f"executor ray: expected a node with {request['gpus']} GPUs for each job, found none in the cluster. Ask "
            "for fewer with --gpus, or add a node that has them."
        ]
    working = [node for node in nodes if node["Resources"].get("CPU", 0)]
    if not working:
        return ["executor ray: expected a node with CPUs, found none in the cluster. Add one with `ray start`."]
    return _of_nodes(ray, working, request["shared"]) if joined else []


def _of_nodes(ray: Any, nodes: Sequence[dict[str, Any]], folders: Sequence[str]) -> list[str]:
    """What nodes lack: this package in this version, and the shared folders."""
    token, mark = secrets.token_hex(8), None
    if folders:
        mark = Path(folders[0]) / f".shiftbench-{token}"
        mark.write_text(token, "utf-8")
    try:
        ray.cloudpickle.register_pickle_by_value(node_probe)  # it must run where this package is not installed
        pinned = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        asked = [
            ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=pinned(node_id=node["NodeID"], soft=False))(
                node_probe.look
            ).remote(list(folders), str(mark) if mark else "")
            for node in nodes
        ]
        return [problem for node, answer in zip(nodes, asked, strict=True) for problem in _lacks(ray, node, answer)]
    finally:
        if mark:
            mark.unlink(missing_ok=True)


def _lacks(ray: Any, node: dict[str, Any], answer: Any) -> Generator[str, None, None]:
    name = f"node {node.get('NodeManagerHostname', '?')} ({node.get('NodeManagerAddress', '?')})"
    try:
        found = ray.get(answer, timeout=ANSWERED)
    except ray.exceptions.RayError as error:
        first = str(error).strip().splitlines()[0]
        yield f"{name}: expected an answer, found {type(error).__name__}: {first} Remove or restart the node."
        return
    if found["version"] != __version__:
        yield (
            f"{name}: expected shiftbench {__version__}, found {found['version']} for {found['python']}. Install the "
            "same version there."
        )
    for folder in found["missing"]:
        yield (
            f"{name}: expected to see the folder {folder} of this machine, found another or none. Choose a place on a "
            "shared file system that is mounted at the same path everywhere."
        )


def _replies(ray: Any, job: Job, workers: int | None, gpus: int) -> Generator[Reply, None, None]:
    remote = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_done)
    most = workers or AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    numbers = iter(range(job.items))
    running = {remote.remote(job.work, job.argument, number): number for number in islice(numbers, most)}
    while running:
        (ended,), _ = ray.wait(list(running), num_returns=1)
        number = running.pop(ended)
        for following in islice(numbers, 1):
            running[remote.remote(job.work, job.argument, following)] = following
        yield _reply(ray, ended, number)


def _reply(ray: Any, ended: Any, number: int) -> Reply:
    try:
        problems, fatal, used = ray.get(ended)
    except ray.exceptions.RayError as error:
        return Reply(number, (f"{type(error).__name__}: {str(error).strip().splitlines()[0]}",), "failure")
    return Reply(number, tuple(problems), fatal, used)


def _done(work: str, argument: str, number: int) -> tuple[list[str], str, tuple[float, ...]]:
    reply = Job(work, argument, 0).done(number)
    return list(reply.problems), reply.fatal, reply.used


if __name__ == "__main__":
    # Functions are sent to nodes by the name of their module, which must not be that of the main script.
    driver = import_module("shiftbench.io.executor.ray_driver")
    child.serve(driver.drive)
