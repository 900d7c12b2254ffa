"""The commands of an organiser: `shiftbench challenge new, seal, check, work, export, import, backup, …`."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shiftbench.cli import options as o
from shiftbench.cli.command import Act
from shiftbench.cli.serving import Folder, Where, command_line, extra
from shiftbench.cli.terminal import progress_bar, say
from shiftbench.errors import SettingsError, counted

if TYPE_CHECKING:
    from shiftbench.challenge.creation import Build, Terms
    from shiftbench.challenge.definition import Board, Phase
    from shiftbench.progress import Progress

ABOUT = "Make a challenge and look after it: sealed labels, a server's copies, the end of a phase."
BoardName = Annotated[str, typer.Argument(help="The board.", show_default=False)]
TABLE = "table"  # what a folder of labels is of, unless it is of a track
PhaseName = Annotated[str, typer.Argument(help="The phase.", show_default=False)]
NewFile = Annotated[Path, typer.Option("--out", "-o", help="File to write.", show_default=False)]
Days = Annotated[float | None, typer.Option("--days", min=0.001, help="Days of development [without end].")]
EvaluationDays = Annotated[
    float | None, typer.Option("--evaluation-days", min=0.001, help="Days of evaluation after that [without end].")
]
Starts = Annotated[str | None, typer.Option("--starts", help="First moment, such as 2027-01-31T12:00Z [now].")]
Subset = Annotated[str, typer.Option("--subset", help="Records that the score is of: full, in or shifted.")]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The options of what an organiser decides about a board."""

    title: Annotated[str | None, typer.Option("--title", help="Title of the board, and of a new challenge.")] = None
    about: Annotated[str, typer.Option("--about", help="What participants read first.")] = ""
    rules: Annotated[Path | None, typer.Option("--rules", help="Text file of rules and licence.")] = None
    board: Annotated[str, typer.Option("--board", help="Short name of the board.")] = "main"
    metric: Annotated[str, typer.Option("--metric", help="Headline score; `shiftbench assess --list` has all.")] = (
        "r_auc"
    )
    task: Annotated[str, typer.Option("--task", help="Task of a track that has several.")] = ""
    subset: Subset = "full"
    threshold: o.Threshold = None
    starts: Starts = None
    days: Days = None
    evaluation_days: EvaluationDays = None
    per_day: Annotated[int, typer.Option("--per-day", min=1, help="Submissions of a team a day, in each phase.")] = 5
    invitation_only: Annotated[bool, typer.Option("--invitation-only", help="Accounts by invitation only.")] = False

    def terms(self) -> Terms:
        """The terms of the board."""
        from shiftbench.challenge.creation import Terms
        from shiftbench.io import files

        return Terms(
            self.title or self.board.replace("-", " ").capitalize(), self.board, self.about, self.metric, self.task,
            _subset(self.subset), self.threshold, _moment(self.starts), self.days, self.evaluation_days, self.per_day,
            not self.invitation_only, files.read_text(self.rules) if self.rules else "",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The options of the baselines that are fitted."""

    method: o.Methods = None
    members: o.Members = None
    cores: o.Cores = 0


def _subset(text: str) -> Literal["full", "in", "shifted"]:
    known: dict[str, Literal["full", "in", "shifted"]] = {"full": "full", "in": "in", "shifted": "shifted"}
    if text not in known:
        raise SettingsError(f"--subset: expected {', '.join(known)}, found {text!r}. Choose one.")
    return known[text]


def _moment(text: str | None) -> int | None:
    from shiftbench.challenge.definition import microseconds

    if text is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise SettingsError(f"--starts: expected a moment with offset, such as 2027-01-31T12:00Z, found {text!r}.")
    return microseconds(found)


def new(
    what: Annotated[
        str | None,
        typer.Argument(metavar="NAME_OR_PATH", help="A track, a table, or a folder of labels [that of --config]."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The challenge's folder; may be there.")] = Path("challenge"),
    *,
    decided: Decided,
    config: o.Config = None,
    track: Annotated[str, typer.Option("--track", help="Track that a folder of labels is of [table].")] = TABLE,
    data: Annotated[Path | None, typer.Option("--data", help="Data of the track [an example, made now].")] = None,
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="Size of the example.")] = None,
    fitted: Fitted,
) -> None:
    """Make a challenge, or add a board to one: what participants see, what is sealed, and baselines.

    From a table, with settings as `shiftbench run` takes them; from a track, with its data or an example whose labels
    nobody knows; or from a folder with PHASE/truth.csv (id, target, shifted), PHASE/NAME.csv and public/.
    """
    from shiftbench import tracks
    from shiftbench.challenge import creation, manifest

    terms, place = decided.terms(), Path(what or "")
    if (data is not None or rows is not None) and what not in tracks.names():
        raise SettingsError(
            f"--data, --rows: expected a track with them, found {what or 'none'}. Name one, or drop them."
        )
    folder = what not in tracks.names() and bool(what) and place.is_dir() and config is None
    if (what in tracks.names() or folder) and (fitted.method or fitted.members):
        raise SettingsError(
            f"--method, --members: expected a table with --config, to which baselines are fitted, found {what}: no "
            "baselines are made of it. Drop these options; a folder may hold predictions as PHASE/NAME.csv."
        )
    if track != TABLE and not folder:
        raise SettingsError(f"--track: expected a folder of labels that it is of, found {what or 'none'}. Drop it.")
    if decided.task and what not in tracks.names() and track == TABLE:
        raise SettingsError(f"--task: expected a track that has tasks, found {what or config or 'none'}. Drop it.")
    with progress_bar() as progress:
        build: Build
        if what is not None and what in tracks.names():
            build = creation.from_track(terms, what, data, rows=rows, progress=progress)
        elif folder:
            build = creation.of_folder(terms, place, track)
        else:
            build = _of_table(terms, place if what else None, config, fitted, progress)
        creation.add(out, terms, build)
    say(f"public:   {out / manifest.PUBLIC / terms.slug}\nsealed:   {out / manifest.SEALED / terms.slug}")
    _say_phases(out, terms)
    say(f"settings: {out / 'challenge.toml'}\nnext:     shiftbench serve {out}")


def _say_phases(folder: Path, terms: Terms) -> None:
    """Tell when the phases of a new board are, and what was not decided."""
    from shiftbench.challenge import definition

    phases = definition.read(folder / definition.FILE).board(terms.slug).phases
    for phase in phases:
        starts, ends = (None if at is None else f"{definition.moment(at):%Y-%m-%d %H:%M} UTC"
                        for at in (phase.starts, phase.ends))  # fmt: skip
        say(f"phase:    {phase.name} from {starts} to {ends or 'no end'}")
    if terms.days is None and any(phase.ends is not None for phase in phases):
        say("          (30 days of development, as no --days was given; change both in challenge.toml)")


def _of_table(terms: Terms, table: Path | None, config: Path | None, fitted: Fitted, progress: Progress) -> Build:
    """A board on a table, with the settings of a file and the methods that are named."""
    from shiftbench.challenge.table_board import from_table
    from shiftbench.cli.terminal import cores_or_all
    from shiftbench.pipeline import settings

    if config is None:
        raise SettingsError(
            f"{table or 'challenge new'}: expected a track, a folder of labels, or a table with --config SETTINGS, "
            "found none of them. `shiftbench example table` writes a table with settings."
        )
    plain = settings.read_checked(config)
    given: dict[str, Any] = {"members": fitted.members} | ({"table": str(table)} if table else {})
    chosen = settings.from_dict(settings.merge(plain, given))
    if methods := o.listed(fitted.method):
        chosen = settings.from_dict(
            {**settings.merge(plain, given), "method": None, "methods": [{"name": each} for each in methods]}
        )
    if not chosen.methods:
        if fitted.members is not None:
            raise SettingsError(
                f"--members: expected models to have them, found no [method] in {config}. Name one, such as "
                "--method boosting, or drop --members."
            )
        say("baseline: none is fitted, as there is no [method] in the settings and no --method")
    return from_table(terms, chosen, cores=cores_or_all(fitted.cores), progress=progress)


def seal(folder: Folder, *, where: Where) -> None:
    """Hash a challenge again, after labels were corrected or sets added. The audit of its server, if any, tells it."""
    from shiftbench.challenge import manifest

    ledger = where.ledger(folder) if where.served(folder) else None  # a database that is away stops it here

    def tell(action: str, text: str) -> None:
        say(text)
        if ledger is not None:
            ledger.noted(action, text.replace(f"{folder}/", ""), command_line())

    tell("sealed", f"manifest {manifest.seal(folder, lambda text: tell('corrected labels', text))}")


def check(folder: Folder) -> None:
    """Check that a challenge is complete, unchanged since it was sealed, and that its labels are private."""
    from shiftbench.challenge import manifest

    if problems := manifest.check(folder):
        raise SettingsError(*problems)
    say(f"manifest {manifest.hash_of(folder)}: complete and unchanged")


def work(
    folder: Folder,
    *,
    where: Where,
    once: Annotated[bool, typer.Option("--once", help="End when nothing waits.")] = False,
) -> None:
    """Score what waits, on this or another machine that sees the challenge, the state and the database."""
    with extra():
        from shiftbench.challenge import worker
    where.ledger(folder).close()
    worker.run(where.of(folder), folder, where.database, once=once)


def export(
    folder: Folder,
    out: NewFile,
    *,
    where: Where,
    log: Annotated[bool, typer.Option("--log", help="Only the log of scores, which may be published.")] = False,
) -> None:
    """Write all that a server remembers as lines of JSON; keep it private: it has addresses and hashes of passwords."""
    with extra():
        from shiftbench.challenge import archive
    ledger = where.ledger(folder)
    if log:
        say(f"{counted(archive.export_log(ledger, out), 'entry', 'entries')} written to {out}, one a line")
    else:
        say(f"{counted(archive.export(ledger, out), 'row')} written to {out}, one a line after the first")


def import_export(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="What `challenge export` wrote.", show_default=False)],
    *,
    where: Where,
) -> None:
    """Fill the empty state of a new server, or an empty database, with an export."""
    with extra():
        from shiftbench.challenge import archive, receipts
        from shiftbench.challenge.web.server import opened
    if not file.is_file():
        raise SettingsError(f"{file}: expected an export, found none. Check the path.")
    state = where.of(folder)
    server = opened(folder, state, database=where.database)
    count = archive.load(server.ledger, file)
    server.ledger.noted("imported", f"{counted(count, 'row')} of {file.name}", command_line())
    say(f"{counted(count, 'row')} loaded")
    if missing := archive.missing(state):
        key = "; without the key receipts get another one, and those of before fail" * (receipts.KEY in missing)
        say(f"next: before you serve it, copy {', '.join(missing)} (what there is) from the old state to {state}{key}")


def backup(folder: Folder, out: NewFile, *, where: Where) -> None:
    """Copy challenge, database and files of a server into one tar archive, while it runs."""
    with extra():
        from shiftbench.challenge import archive
    size = archive.backup(folder, where.of(folder), where.ledger(folder), out)
    say(f"{size / 1e6:,.1f} MB written to {out}: keep it private, it has labels and the key")


def checkpoint(folder: Folder, out: Annotated[Path | None, o.Out] = None, *, where: Where) -> None:
    """Print the signed size and root of the log, to be published where it cannot be taken back."""
    import json

    with extra():
        from shiftbench.challenge import archive, definition, receipts
    from shiftbench.io import files

    ledger, challenge = where.ledger(folder), definition.read(folder / definition.FILE)
    tree = receipts.tree_of(archive.log(ledger))
    found = receipts.checkpoint(receipts.Key.of(where.of(folder)), challenge.slug, tree, ledger.now())
    if out is None:
        say(json.dumps(found))
    else:
        files.write_json(out, found)
        say(f"checkpoint of {counted(len(tree), 'entry', 'entries')} written to {out}")


def conclude(folder: Folder, board: BoardName, phase: PhaseName, *, where: Where) -> None:
    """Make the final ranking of a phase that has ended, from the submissions that teams chose."""
    with extra():
        from shiftbench.challenge import conclusion
    chosen, during = _phase(folder, board, phase)
    ledger = where.ledger(folder)
    entries = conclusion.entries(folder, ledger, chosen, during)
    made = conclusion.ranking(folder, where.of(folder), chosen, during, entries)
    ledger.conclude(board, during, made, command_line(), better=conclusion.better(chosen), entries=entries)
    say(f"{counted(len(entries), 'submission')} ranked: the board of {phase} shows the final results")


def release(folder: Folder, board: BoardName, phase: PhaseName, *, where: Where) -> None:
    """Make the labels of a phase that has ended public."""
    _, during = _phase(folder, board, phase)
    where.ledger(folder).release(board, during, command_line())
    say(f"the labels of {phase} can be downloaded by everybody")


def _phase(folder: Path, board: str, phase: str) -> tuple[Board, Phase]:
    from shiftbench.challenge import definition

    chosen = definition.read(folder / definition.FILE).board(board)
    return chosen, chosen.phase(phase)


def commands() -> Iterator[tuple[str, Act]]:
    """Name and function of each command below `shiftbench challenge`."""
    acts: dict[str, Act] = {
        "new": new, "seal": seal, "check": check, "work": work, "export": export, "import": import_export,
        "backup": backup, "checkpoint": checkpoint, "conclude": conclude, "release": release,
    }  # fmt: skip
    yield from acts.items()
