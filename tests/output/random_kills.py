"""Kill commands from outside at random moments, and see that nothing is lost. For many moments:

python -m tests.output.random_kills 200 [SEED] [-- WORDS OF A COMMAND WITH --out r, such as assess a.csv --out r]
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.io.output import read_mark, writing

FOREIGN = {"thesis.txt": "mine", ".r.old": "mine", ".r.part": "mine", ".r.lock": "mine"}
FILES = 12
OURS = {"r", ".r.making", ".r.earlier", ".r.shiftbench"}


def write(text: str, *, resumes: bool) -> None:
    """A command of many small files, each of which says which command wrote it."""
    with suppress(SettingsError), writing(Path("r"), "run", overwrite=True, resumes=resumes, settings=text) as place:
        for number in range(FILES):
            path = place / f"part{number % 3}" / f"{number}.txt"
            if not path.exists():
                files.write_text(path, text)


def killed(act: Callable[[], object], after_s: float) -> bool:
    """Do something in a process that is killed after a while; whether it was before the end."""
    child = os.fork()
    if not child:
        try:
            act()
        finally:
            os._exit(0)
    time.sleep(after_s)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def whole(folder: Path) -> bool:
    """Whether a result is all that its mark lists."""
    mark = read_mark(folder)
    return mark is not None and not mark.foreign(folder) and all((folder / name).exists() for name in mark.files)


def check(root: Path) -> None:
    """Nothing of others is lost, and a whole result is where it belongs, or stands aside."""
    for name, text in FOREIGN.items():
        assert (root / name).read_text() == text, name
    assert {path.name for path in root.iterdir()} <= {*FOREIGN, *OURS, "a.csv"}
    places = [root / "r"] if (root / "r").exists() else [root / ".r.earlier", root / ".r.making"]
    assert all(map(whole, places)), [path.name for path in root.iterdir()]


def many(moments: int, seed: int, root: Path, *, act: Callable[[str, bool], None] | None = None) -> int:
    """Kill so many commands in an empty folder, one after the other; how many were killed before their end."""
    os.chdir(root)
    rng, count = random.Random(seed), 0
    for name, text in FOREIGN.items():
        (root / name).write_text(text)
    command = act or (lambda text, resumes: write(text, resumes=resumes))
    start = time.perf_counter()
    command("first", False)
    longest_s = time.perf_counter() - start
    for number in range(moments):
        text, resumes = str(number), rng.random() < 0.5
        count += killed(lambda: command(text, resumes), rng.random() * 1.2 * longest_s)  # noqa: B023
        check(root)
        if rng.random() < 0.3:
            command(text, resumes)
            check(root)
            assert {path.name for path in root.iterdir()} <= {*FOREIGN, "r", "a.csv"}
            held = {path.read_text() for path in (root / "r").rglob("*.txt")}
            assert act or held == {text}, held
    return count


def of_words(words: list[str]) -> Callable[[str, bool], None]:
    """A command of ours that is run by its words, with --overwrite."""
    line = [sys.executable, "-m", "shiftbench", *words, "--overwrite"]

    def act(_text: str, _resumes: bool) -> None:
        if os.getpid() == PARENT:
            subprocess.run(line, check=True, capture_output=True)
        else:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            os.execv(line[0], line)  # so that the command itself is killed

    return act


PARENT = os.getpid()

if __name__ == "__main__":
    given, _, words = " ".join(sys.argv[1:]).partition(" -- ")
    moments, seed = (*map(int, given.split()), 0)[:2]
    with tempfile.TemporaryDirectory() as made:
        if words:
            Path(made, "a.csv").write_bytes(Path("a.csv").read_bytes())
        dead = many(moments, seed, Path(made), act=of_words(words.split()) if words else None)
    print(f"{dead} of {moments} were killed before their end; nothing was lost")  # noqa: T201
