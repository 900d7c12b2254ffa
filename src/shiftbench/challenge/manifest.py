"""What the folder of a challenge holds, by hash: `manifest.json`, made again by `shiftbench challenge seal`.

    challenge.toml
    public/BOARD/…                    what participants download
    public/BOARD/PHASE/records.json   the ids of the records that are scored, with which files are compared
    sealed/BOARD/PHASE/truth…         labels, readable for the organiser's account alone
    sealed/BOARD/PHASE/nonce          random: nobody finds a small set of labels by hashing guesses
    baselines/BOARD/PHASE/NAME.…      predictions of reference systems
    replaced/BOARD/PHASE/MOMENT-truth…  labels that were corrected; not part of the manifest
    copies/HASH                       sealed files as they were sealed, so that none is lost when others take their
                                      place; not part of the manifest

Scores name the version of their labels, `labels`: corrected labels get another one, sets that are added do not change
those of the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shiftbench.challenge import definition, exposure, replacements, sealed_labels
from shiftbench.challenge.definition import Board, Challenge
from shiftbench.errors import SettingsError, ShiftbenchError, ShiftbenchWarning, first_line
from shiftbench.io import files
from shiftbench.track import public_records
from shiftbench.track.public_records import PublicRecords

FILE = "manifest.json"
PUBLIC, SEALED, BASELINES, REPLACED, COPIES = "public", "sealed", "baselines", "replaced", "copies"
TRUTH, NONCE = sealed_labels.STEM, "nonce"
BESIDE = (NONCE, "seed.json", "source_ids.parquet")  # what may lie beside labels: see `creation` and `table_board`
PRIVATE = (SEALED, REPLACED, COPIES)
FORMAT = 1


def seal(folder: Path, note: Callable[[str], object] = str, *, exposed: bool = True) -> str:
    """Hash everything again, and make the sealed files readable for their owner alone; returns the manifest's hash.

    Corrected labels beside those of a phase, in any format that `creation` takes, take their place. Of what else was
    replaced since it was sealed a copy is kept.

    Args:
        folder: of the challenge.
        note: is told of both.
        exposed: whether to look for labels among public files.

    Raises:
        SettingsError: naming everything that is missing or too much, and labels that are public.
    """
    challenge, before = definition.read(folder / definition.FILE), _before(folder, note)
    changed = replacements.changed(folder, {name: each for name, each in before.items() if _of_phase(name, challenge)})
    wrong = _corrected(folder, challenge, before, note)
    require(folder, challenge, but=wrong, before=before, exposed=exposed)
    for told in replacements.kept(folder, changed, before):
        note(told)
    held = _written(folder, challenge)
    files.write_json(folder / FILE, {"format": FORMAT, "files": held})
    (folder / FILE).chmod(0o600)  # hashes of labels, too
    replacements.forget(folder / COPIES, held)
    return hash_of(folder)


def _before(folder: Path, note: Callable[[str], object]) -> dict[str, str]:
    """What was sealed; nothing if the manifest is new or damaged."""
    try:
        return _read(folder) if (folder / FILE).is_file() else {}
    except SettingsError:
        note(f"{FILE}: made anew, as it was damaged; whether files were replaced before cannot be told")
        return {}


def require(
    folder: Path, challenge: Challenge, *, but: Mapping[tuple[str, str], Sequence[str]] = {},
    before: Mapping[str, str] = {}, exposed: bool = True,
) -> None:  # fmt: skip
    """Refuse a challenge that cannot be sealed.

    Args:
        folder, challenge: what is to be sealed.
        but: boards and phases whose labels are wrong, and why.
        before: name → hash of all files when they were sealed.
        exposed: whether to look for labels among public files.

    Raises:
        SettingsError: naming everything that is wrong.
    """
    problems = [problem for of_phase in but.values() for problem in of_phase]
    problems += _incomplete(folder, challenge, but={*but})
    problems += _strange(folder, challenge, before).values()
    problems += _exposed(folder, challenge) if exposed else ()
    if problems:
        raise SettingsError(*dict.fromkeys(problems))


def _written(folder: Path, challenge: Challenge) -> dict[str, str]:
    """Write what sealing adds, and make it private; returns name → hash of all files."""
    for board, phase in _phases(challenge):
        nonce = folder / SEALED / board / phase / NONCE
        if not nonce.exists():
            files.write_text(nonce, secrets.token_hex(32) + "\n")
    _publish_records(folder, challenge)
    held = {name: files.sha256(folder / name) for name in _names(folder)}
    replacements.copy(folder, {name: each for name, each in held.items() if name.startswith(f"{SEALED}/")})
    for part in PRIVATE:
        if (folder / part).exists():
            _close(folder / part)
    return held


def check(folder: Path) -> list[str]:
    """What is missing, differs from the manifest, or can be read by others; empty if all is well."""
    try:
        challenge = definition.read(folder / definition.FILE)
        held = _read(folder)
    except ShiftbenchError as error:
        return [*error.problems]
    problems, strange = _incomplete(folder, challenge), _strange(folder, challenge, held)
    problems += strange.values()
    there = list(_names(folder))
    again = "Seal the challenge again if this was meant: shiftbench challenge seal."
    problems += [f"{name}: expected a file of the manifest, found none. {again}" for name in held.keys() - {*there}]
    for name in there:
        if name not in held and name not in strange:
            problems.append(f"{name}: expected files of the manifest alone, found this one, too. {again}")
        elif name in held and files.sha256(folder / name) != held[name]:
            problems.append(f"{name}: expected the file that was sealed, found another. {again}")
    problems += _exposed(folder, challenge)
    for path in (each for part in PRIVATE for place in [folder / part] for each in (place, *place.rglob("*"))):
        if path.exists() and os.name == "posix" and path.stat().st_mode & 0o077:
            place = path.relative_to(folder).as_posix()
            problems.append(f"{place}: expected it readable for its owner alone, found it open to others. {again}")
    return sorted(problems)


def _exposed(folder: Path, challenge: Challenge) -> Iterator[str]:
    """Labels among what participants download; what cannot be read is told elsewhere."""
    from shiftbench.challenge import forms

    for board in challenge.boards:
        try:
            truths = {phase.name: truth(folder, board.slug, phase.name) for phase in board.phases}
            labels = [exposure.Labels(name, path, forms.labels(board, path)) for name, path in truths.items()]
            found = exposure.problems(folder / PUBLIC / board.slug, labels)
        except (ShiftbenchError, LookupError):
            continue
        yield from (f"board {board.slug}: {each}" for each in found)


def hash_of(folder: Path) -> str:
    """The hash of the manifest, which stands for everything in the folder."""
    return files.sha256(_required(folder))


def labels(folder: Path, board: str, phase: str) -> str:
    """The version of the sealed labels of a phase: a hash of all of its sealed files."""
    place = f"{SEALED}/{board}/{phase}/"
    held = sorted((name[len(place) :], found) for name, found in _read(folder).items() if name.startswith(place))
    if not held:
        raise SettingsError(f"{place}: expected sealed labels, found none in the manifest. Seal the challenge again.")
    return hashlib.sha256("".join(f"{found}  {name}\n" for name, found in held).encode()).hexdigest()


def truth(folder: Path, board: str, phase: str) -> Path:
    """The sealed labels of a phase: a file or a folder.

    Raises:
        SettingsError: unless there is exactly one.
    """
    place = folder / SEALED / board / phase
    found = sorted(path for path in place.glob("*") if path.name.split(".")[0] == TRUTH)
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise SettingsError(
            f"{place.relative_to(folder).as_posix()}: expected one file or folder {TRUTH} or {TRUTH}.*, found {names}. "
            "Put the labels there."
        )
    return found[0]


def records(folder: Path, board: Board, phase: str) -> PublicRecords | None:
    """What everybody may know of the records of a phase; None if the board's track does not say.

    Of a challenge that was sealed before there was such a file, it is found anew.

    Raises:
        ShiftbenchError: if it cannot be read, nor found.
    """
    from shiftbench.challenge import forms

    path = records_file(folder, board.slug, phase)
    if path is not None:
        return PublicRecords.read(path)
    return forms.records(board, truth(folder, board.slug, phase))


def records_file(folder: Path, board: str, phase: str) -> Path | None:
    """The file of the public records of a phase; None if it has none."""
    path = folder / PUBLIC / board / phase / public_records.FILE
    return path if path.is_file() and not path.is_symlink() else None


def _publish_records(folder: Path, challenge: Challenge) -> None:
    """Write the public records of each phase.

    Raises:
        SettingsError: naming all labels that cannot be read.
    """
    from shiftbench.challenge import forms

    problems = list[str]()
    for board in challenge.boards:
        held = dict[str, PublicRecords]()
        for phase in board.phases:
            try:
                found = forms.records(board, truth(folder, board.slug, phase.name))
                if (there := records_file(folder, board.slug, phase.name)) is not None:
                    PublicRecords.read(there)  # nobody else's file is replaced
            except ShiftbenchError as error:
                problems += [f"{board.slug}, {phase.name}: {problem}" for problem in error.problems]
                continue
            if found is not None:
                held[phase.name] = found
        digests = {name: public_records.digest(found.ids) for name, found in held.items()}
        for name, found in held.items():
            others = {other: each for other, each in digests.items() if other != name and each != digests[name]}
            told = PublicRecords(found.ids, {**found.facts, **({public_records.OTHERS: others} if others else {})})
            told.write(folder / PUBLIC / board.slug / name / public_records.FILE)
    if problems:
        raise SettingsError(*problems)


def baselines(folder: Path, board: str, phase: str) -> dict[str, Path]:
    """Predictions of reference systems by name."""
    place = folder / BASELINES / board / phase
    return {path.name.split(".")[0]: path for path in sorted(place.glob("*")) if path.is_file()}


def public(folder: Path, board: str) -> list[str]:
    """The files of a board that participants download, relative to its public folder; links are no files."""
    place = folder / PUBLIC / board
    return [path.relative_to(place).as_posix() for path in _files(place)]


def _of_phase(name: str, challenge: Challenge) -> bool:
    """Whether a file is among the sealed ones of a phase."""
    part, *inner = name.split("/", 3)
    return part == SEALED and len(inner) > 2 and tuple(inner[:2]) in {*_phases(challenge)}


def _strange(folder: Path, challenge: Challenge, held: Mapping[str, str]) -> dict[str, str]:
    """Files among the sealed ones that mean nothing there → what is told of them and of others in their folder.

    Those of other names that an earlier version has sealed (`held`) are part of the version of labels: a warning alone.
    """
    found = dict[Path, list[Path]]()
    for path in _files(folder / SEALED):
        name = path.relative_to(folder).as_posix()
        inner = name.split("/")[3:]
        own = _of_phase(name, challenge) and (
            inner[0].split(".")[0] == TRUTH or (len(inner) == 1 and inner[0] in BESIDE)
        )
        if not own and held.get(name) != files.sha256(path):
            found.setdefault(path.parent, []).append(path)
        elif not own:
            warnings.warn(f"{name}: nobody reads it, but it is part of what was sealed. Leave it there.",
                          ShiftbenchWarning, stacklevel=2)  # fmt: skip
    return {
        path.relative_to(folder).as_posix(): (
            f"{place.relative_to(folder).as_posix()}: expected labels called {TRUTH} or {TRUTH}.* in the folder of a "
            f"phase, found {', '.join(each.name for each in paths)}. Call corrected labels so, such as {TRUTH}.csv, "
            "and put anything else elsewhere."
        )
        for place, paths in found.items()
        for path in paths
    }


def _phases(challenge: Challenge) -> Iterator[tuple[str, str]]:
    return ((board.slug, phase.name) for board in challenge.boards for phase in board.phases)


def _incomplete(folder: Path, challenge: Challenge, *, but: Collection[tuple[str, str]] = ()) -> list[str]:
    """What a challenge lacks or names wrongly; labels of some boards and phases (`but`) are known to be wrong."""
    problems = list[str]()
    for board in challenge.boards:
        for phase in board.phases:
            if (board.slug, phase.name) in but:
                continue
            try:
                found = truth(folder, board.slug, phase.name)
            except SettingsError as error:
                problems += error.problems
            else:
                problems += sealed_labels.problems(found, table=board.track == definition.TABLE)
    problems += [problem for board in challenge.boards for problem in _misnamed(board)]
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            place = path.relative_to(folder).as_posix()
            problems.append(
                f"{place}: expected files and folders, found a link or the like. Put the file itself there."
            )
    return problems


def _corrected(
    folder: Path, challenge: Challenge, held: Mapping[str, str], note: Callable[[str], object]
) -> dict[tuple[str, str], Sequence[str]]:
    """Let corrected labels take the place of those that were sealed; what is wrong with them, by board and phase."""
    problems = dict[tuple[str, str], Sequence[str]]()
    for board in challenge.boards:
        for phase in board.phases:
            start = f"{SEALED}/{board.slug}/{phase.name}/"
            known = {name.removeprefix(start): found for name, found in held.items() if name.startswith(start)}
            try:
                keep, table = folder / REPLACED / board.slug / phase.name, board.track == definition.TABLE
                if done := sealed_labels.correct(folder / start, known, table=table, keep=keep):
                    note(done)
            except ShiftbenchError as error:
                problems[board.slug, phase.name] = error.problems
    return problems


def _misnamed(board: Board) -> Iterator[str]:
    """Names of a board that mean nothing here."""
    from shiftbench import tracks
    from shiftbench.scores.metric import METRICS

    if board.metric not in METRICS:
        yield f"board {board.slug}: expected a metric among {', '.join(METRICS)}, found {board.metric!r}. Choose one."
    elif METRICS[board.metric].better == "nominal":
        yield f"board {board.slug}: expected a metric that is best low or high, found {board.metric!r}. Choose another."
    if board.track == definition.TABLE:
        return
    try:
        tasks = [task.name for task in tracks.track(board.track).tasks]
    except LookupError as error:
        yield f"board {board.slug}: {error}"
        return
    if (board.task and board.task not in tasks) or (not board.task and len(tasks) > 1):
        yield f"board {board.slug}: expected a task among {', '.join(tasks)}, found {board.task or 'none'}. Choose one."


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())


def _names(folder: Path) -> Iterator[str]:
    yield definition.FILE
    for part in (PUBLIC, SEALED, BASELINES):
        yield from (path.relative_to(folder).as_posix() for path in _files(folder / part))


def _close(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _required(folder: Path) -> Path:
    if not (folder / FILE).is_file():
        raise SettingsError(f"{folder}: expected a sealed challenge, found no {FILE}. Run `shiftbench challenge seal`.")
    return folder / FILE


def _read(folder: Path) -> dict[str, str]:
    path = _required(folder)
    try:
        value: Any = json.loads(files.read_text(path))
        held = value["files"]
        if value["format"] != FORMAT or not all(type(x) is str for pair in held.items() for x in pair):
            raise ValueError("another format")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(
            f"{path}: expected hashes as `shiftbench challenge seal` writes them, found: {first_line(error)}. "
            "Seal the challenge again."
        ) from None
    return dict(held)
