"""How much memory can be had: what the machine leaves, or a container's limit where that is lower."""

from __future__ import annotations

from shiftbench.io.executor import memory

GIB = 2**30


def test_the_limit_of_a_container_counts_where_it_is_lower(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 99 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "memory.max").write_text(f"{3 * GIB}\n")
    (tmp_path / "memory.current").write_text(f"{GIB}\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() == 2 * GIB
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() == 8 * GIB


def test_where_nothing_tells_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available() is None
