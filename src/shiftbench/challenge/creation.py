"""New challenges and boards: from a table and the settings of a run, from a track, or from files.

A board is built aside and moved into the folder whole; then the folder is sealed. Splits are drawn with a secret seed:
`sealed/BOARD/evaluation/seed.json` keeps it, and `public/BOARD/split.json` has its hash, so that after the end anybody
can see that the split was not chosen.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from shiftbench.challenge import definition, exposure, forms, manifest, sealed_labels
from shiftbench.challenge.definition import TABLE, Board, Challenge, Phase, Subset
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.progress import Progress, silent

DEVELOPMENT, EVALUATION = "development", "evaluation"
SECOND = 1_000_000  # microseconds
DAY = 86_400 * SECOND
DEVELOPMENT_DAYS = 30.0  # of a folder's labels, unless the organiser says otherwise
SEED, SPLIT = "seed.json", "split.json"


@dataclass(frozen=True)
class Terms:
    """What an organiser decides about a board; see `definition`.

    starts: of all phases, microseconds since 1970 UTC; by default now. days: until development ends; None: never.
    evaluation_days: until evaluation ends; None: never. per_day: submissions of a team, in each phase.
    slug: of the board. about, rules, sign_up: of a new challenge.
    """

    title: str
    slug: str = "main"
    about: str = ""
    metric: str = "r_auc"
    task: str = ""
    subset: Subset = "full"
    threshold: float | None = None
    starts: int | None = None
    days: float | None = None
    evaluation_days: float | None = None
    per_day: int = 5
    sign_up: bool = True
    rules: str = ""

    def phases(self, names: Mapping[str, bool]) -> tuple[Phase, ...]:
        """The phases of these names, and whether they are hidden. Evaluation begins when development ends, if it does.

        All others are open as long as development.
        """
        starts = int(time.time()) * SECOND if self.starts is None else self.starts
        first = _after(starts, self.days)
        times = dict.fromkeys(names, (starts, first))
        if EVALUATION in names:
            begins = first if DEVELOPMENT in names and first is not None else starts
            times[EVALUATION] = (begins, _after(begins, self.evaluation_days))
        return tuple(Phase(name, *times[name], per_day=self.per_day, hidden=hidden) for name, hidden in names.items())


def _after(starts: int, days: float | None) -> int | None:
    return None if days is None else starts + max(round(days * DAY / SECOND), 1) * SECOND


@dataclass(frozen=True)
class Place:
    """The folders of a board while it is made."""

    root: Path
    slug: str
    seed: int = field(default_factory=lambda: secrets.randbits(63))

    def public(self, *names: str) -> Path:
        """A path among what participants download; its folder is made."""
        return _made(self.root.joinpath(manifest.PUBLIC, self.slug, *names))

    def sealed(self, phase: str, name: str) -> Path:
        """A path among the labels of a phase; its folder is made."""
        return _made(self.root / manifest.SEALED / self.slug / phase / name)

    def baseline(self, phase: str, name: str) -> Path:
        """The path of a reference system's predictions; its folder is made."""
        return _made(self.root / manifest.BASELINES / self.slug / phase / name)

    def commit(self) -> None:
        """Write the seed among the sealed files, and its hash among the public ones."""
        secret = {"seed": self.seed, "nonce": secrets.token_hex(32)}
        text = json.dumps(secret, sort_keys=True)
        files.write_text(self.sealed(EVALUATION, SEED), text + "\n")
        line = f"SHA-256 of the one line in {SEED} without the newline at its end"
        about = f"{line}; the file is published with the labels of {EVALUATION}"
        files.write_json(self.public(SPLIT), {"commitment": hashlib.sha256(text.encode()).hexdigest(), "about": about})


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


Build = Callable[[Place], Board]


def add(folder: Path, terms: Terms, build: Build) -> str:
    """Make a challenge with one board, or add the board to the challenge in the folder; returns the manifest's hash.

    Raises:
        SettingsError: if the folder holds something else, or the board is there already.
    """
    there = definition.read(folder / definition.FILE) if (folder / definition.FILE).exists() else None
    if there is None and folder.exists() and any(folder.iterdir()):
        raise SettingsError(f"{folder}: expected a new folder or a challenge, found other files. Choose another --out.")
    if not definition.SLUG.fullmatch(terms.slug):
        raise SettingsError(
            f"--board: expected up to 40 small letters, digits and hyphens, found {terms.slug!r}. Rename it."
        )
    if there is not None and terms.slug in {board.slug for board in there.boards}:
        raise SettingsError(f"{folder}: expected a new board, found one named {terms.slug}. Choose another --board.")
    with _aside(folder) as root, _told_of(root, folder):
        place = Place(root, terms.slug)
        board = build(place)
        _add_examples(place, board)
        new = there or Challenge(
            _slug(folder.name), terms.title, terms.about, (), sign_up=terms.sign_up, rules=terms.rules
        )
        definition.write(root / definition.FILE, replace(new, boards=(board,)))
        manifest.require(root, definition.read(root / definition.FILE))
        _move(root, folder, board.slug)
        definition.write(folder / definition.FILE, replace(new, boards=(*new.boards, board)))
    return manifest.seal(folder, exposed=False)


def _slug(name: str) -> str:
    kept = "".join(each if each.isascii() and each.isalnum() else "-" for each in name.lower()).strip("-")[:40]
    return kept.rstrip("-") or "challenge"


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder beside the challenge, private, removed at the end."""
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.absolute().parent))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _told_of(path: Path, known: Path) -> Iterator[None]:
    """Name what an organiser knows in problems, in place of a path that is only ours."""
    try:
        yield
    except ShiftbenchError as error:
        if not any(str(path) in each for each in error.problems):
            raise
        raise SettingsError(*(each.replace(str(path), str(known)) for each in error.problems)) from None


def _move(root: Path, folder: Path, board: str) -> None:
    """Move the parts of a board to their places; what an interrupted attempt left there is replaced."""
    for part in (manifest.SEALED, manifest.BASELINES, manifest.PUBLIC):
        if (root / part / board).exists():
            goal = _made(folder / part / board)
            shutil.rmtree(goal, ignore_errors=True)
            (root / part / board).replace(goal)


def of_board(terms: Terms, track: str, phases: Mapping[str, bool], **changes: object) -> Board:
    """The board of these terms; phases: name → whether it is hidden."""
    board = Board(
        terms.slug, terms.title, terms.metric, terms.phases(phases), track, terms.task, terms.subset, terms.threshold
    )
    return replace(board, **changes) if changes else board  # type: ignore[arg-type]


# --- from files -------------------------------------------------------------------------------------------------------


def from_files(
    terms: Terms, *, track: str, truths: Mapping[str, Path], public: Path | None = None,
    baselines: Mapping[str, Mapping[str, Path]] | None = None,
) -> Build:  # fmt: skip
    """A board from a sealed truth of each phase, a folder for participants, and predictions to compare with.

    Args:
        terms: of the board.
        track: a track, or `TABLE`.
        truths: phase → labels, as `Track.score_files` takes them; of a `TABLE` a table with `id`, `target`, `shifted`
            and, if there, `cluster` and columns to slice by. All phases but one called development are hidden.
        public: what participants download, a folder or a file.
        baselines: phase → name → predictions.
    """

    def build(place: Place) -> Board:
        board, problems = of_board(terms, track, {phase: phase != DEVELOPMENT for phase in truths}), list[str]()
        for phase, truth in truths.items():
            given = (baselines or {}).get(phase, {})
            try:
                sealed = _sealed(place, phase, truth, table=track == TABLE)
                with _told_of(sealed, truth):
                    problems += _unfit(board, phase, sealed, given)
            except MissingExtraError:
                raise
            except ShiftbenchError as error:
                problems += error.problems
            for name, path in given.items():
                _copy(path, place.baseline(phase, f"{name}{''.join(path.suffixes[-2:])}"))
        if public is not None:
            _copy(public, place.public() if public.is_dir() else place.public(public.name))
            if problems or track == TABLE:  # `add` looks for labels as they are sealed
                problems += exposure.problems(place.public(), _labels(board, truths, tables=bool(problems)))
        if problems:
            raise SettingsError(*dict.fromkeys(problems))
        return board

    return build


def _labels(board: Board, truths: Mapping[str, Path], *, tables: bool) -> list[exposure.Labels]:
    """The labels as an organiser has them, if they can be read; tables: whether their columns are of interest."""
    found = []
    for phase, truth in truths.items():
        with suppress(ShiftbenchError):
            if truth.exists():
                told = forms.labels(board, truth)
                found.append(exposure.Labels(phase, truth, told if tables else dict.fromkeys(told, ())))
    return found


def _sealed(place: Place, phase: str, truth: Path, *, table: bool) -> Path:
    """Labels put where they are sealed.

    Raises:
        ShiftbenchError: naming everything that is wrong with them.
    """
    if not truth.exists():
        raise SettingsError(f"{truth}: expected the labels of the phase {phase}, found nothing there.")
    if table:
        goal = place.sealed(phase, sealed_labels.NAME)
        sealed_labels.write(truth, goal)
    else:
        goal = place.sealed(phase, manifest.TRUTH + ("" if truth.is_dir() else "".join(truth.suffixes[-2:])))
        _copy(truth, goal)
    return goal


def _unfit(board: Board, phase: str, sealed: Path, baselines: Mapping[str, Path]) -> list[str]:
    """What is wrong with predictions to compare with, as their own team would be told.

    Raises:
        ShiftbenchError: for labels that cannot be read.
    """
    records, found = forms.records(board, sealed), list[str]()
    if records is None:
        return found
    form = forms.of(board)
    for path in baselines.values():
        wrong = form.misnamed(path.name) or forms.validated(form.intake, path, records)[1]
        found += [f"baseline {path.parent.name}/{path.name}: {each.removeprefix(f'{path.name}: ')}" for each in wrong]
    return found


def of_folder(terms: Terms, folder: Path, track: str) -> Build:
    """A board from a folder: PHASE/truth or PHASE/truth.* are labels, PHASE/NAME.* predictions, public/ for everybody.

    Raises:
        SettingsError: if no folder in it has labels; naming each that has none, and files of one name.
    """
    phases = [path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != manifest.PUBLIC]
    truths, baselines, problems = dict[str, Path](), dict[str, dict[str, Path]](), list[str]()
    for phase in phases:
        held = [path for path in sorted(phase.iterdir()) if not path.name.startswith(".")]
        named = {path.name.split(".")[0]: path for path in held}
        problems += [
            f"{phase}: expected one file called {name}, found {', '.join(same)}. Rename one; names end at a dot."
            for name in named
            if len(same := [path.name for path in held if path.name.split(".")[0] == name]) > 1
        ]
        if manifest.TRUTH in named:
            truths[phase.name] = named.pop(manifest.TRUTH)
            baselines[phase.name] = named
        elif not phase.name.startswith("."):
            some = ", ".join(path.name for path in held[:3]) + ", …" * (len(held) > 3)
            problems.append(
                f"{phase}: expected labels called {manifest.TRUTH} or {manifest.TRUTH}.*, found {some or 'none'}. "
                "Rename them, or move the folder elsewhere if it is no phase."
            )
    if truths and problems:
        raise SettingsError(*problems)
    if not truths:
        raise SettingsError(
            f"{folder}: expected folders of phases with labels, such as {EVALUATION}/truth.csv, found none. Make one."
        )
    if terms.days is None and {DEVELOPMENT, EVALUATION} <= {*truths}:  # else both would be open at once
        terms = replace(terms, days=DEVELOPMENT_DAYS)
    public = folder / manifest.PUBLIC
    return from_files(
        terms, track=track, truths=truths, public=public if public.is_dir() else None, baselines=baselines
    )


def _add_examples(place: Place, board: Board) -> None:
    """Write the form of a submission for each phase, unless participants get files named `example…` already.

    It tells nothing but what `Intake.records` does: its answers are trivial.
    """
    if any(path.name.startswith("example") for path in place.public().rglob("*")):
        return
    for phase in board.phases:
        records = forms.records(board, manifest.truth(place.root, board.slug, phase.name))
        if records is not None:
            forms.of(board).intake.example(_folder(place.public(phase.name)), records)


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _copy(source: Path, goal: Path) -> None:
    """Copy a file or a folder; what links point to is copied, and our own marks are left out."""
    if source.is_dir():
        shutil.copytree(source, goal, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".shiftbench*"))
    else:
        shutil.copyfile(source, goal)


# --- from a track -----------------------------------------------------------------------------------------------------


def from_track(
    terms: Terms, name: str, data: Path | None, *, rows: int | None = None, progress: Progress = silent
) -> Build:
    """A board of a track, from its data or from an example that is made with a secret seed.

    Args:
        terms: of the board.
        name: of the track.
        data: what `Track.prepare` takes; None: an example, of which nobody else has the labels.
        rows: of the example.
        progress: of its making.

    Raises:
        SettingsError: if the track does not say what of its data participants may see.
    """
    from shiftbench import tracks

    track = tracks.track(name)
    withhold = track.withhold
    if withhold is None:
        raise SettingsError(
            f"{name}: expected a track that divides its data into inputs and labels, found one that does not. Give a "
            "folder with the labels of each phase as PHASE/truth, and with what participants see as public."
        )

    def build(place: Place) -> Board:
        source = data
        if source is None:
            source = place.root / "example" / track.example.name
            _made(source)
            track.example.write(source, rows, place.seed % 2**32, progress)
        for phase, split in ((DEVELOPMENT, "dev"), (EVALUATION, "eval")):
            withhold(source, split, place.public(phase), place.sealed(phase, manifest.TRUTH))
        withhold(source, "train", place.public("train"), None)
        if data is None:
            place.commit()
            shutil.rmtree(place.root / "example")
        board = of_board(terms, name, {DEVELOPMENT: False, EVALUATION: True})
        return replace(board, task=board.task or (track.tasks[0].name if len(track.tasks) > 1 else ""))

    return build
