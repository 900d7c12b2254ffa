"""Commands that make predictions: run, partition, fit, predict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.benchmarking import working
from shiftbench.cli.options import listed
from shiftbench.cli.terminal import computing as computed
from shiftbench.cli.terminal import note, progress_bar, say, show, tell_records, write
from shiftbench.errors import SettingsError, counted, nearest
from shiftbench.io.output import together, writing

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.pipeline.partitioning import Divided
    from shiftbench.pipeline.settings import Settings


def _methods(names: tuple[str, ...], preset: str | None) -> dict[str, Any]:
    """The methods given on the command line, which replace those of a settings file."""
    if names and preset:
        raise SettingsError(f"expected --method or --preset, found both ({', '.join(names)}; {preset}). Drop one.")
    if not names and not preset:
        return {}
    return {"method": None, "methods": [{"name": name} for name in names], "preset": preset or ""}


def _require_known(name: Path) -> None:
    """Refuse a plain word that names neither a track nor anything that is there."""
    from shiftbench import tracks

    if name.suffix or len(name.parts) != 1 or name.exists():
        return
    near = nearest(name, names := sorted(tracks.names()))
    raise SettingsError(
        f"{name}: expected a track ({', '.join(names)}), a table or a folder of partitions, found none of that name. "
        + (f"Did you mean {near!r}?" if near else "Check the name.")
    )


@dataclass(frozen=True, kw_only=True)
class Work:
    """The options of output and computing, for commands that fit."""

    out: o.Out = None
    computing: o.Computing
    overwrite: o.Overwrite = False


@dataclass(frozen=True, kw_only=True)
class TableRun:
    """The options of a run on a table."""

    target: o.Target = None
    task: o.Task = None
    partitioning: o.Partitioning
    slices: o.Slice = None
    baseline: o.Baseline = None
    learning: o.Learning
    threshold: o.Threshold = None
    unit: o.Unit = None
    test_set: o.TestSet = None
    method: o.Methods = None
    preset: o.Preset = None
    members: o.Members = None
    scoring: o.Scoring
    config: o.Config = None

    def settings(self, table: Path | None) -> Settings:
        """The settings of the run: those of the file, overridden by options; a note if these replace its methods."""
        from shiftbench.pipeline import settings

        given = {
            "table": None if table is None else str(table),
            "target": self.target, "task": self.task, "unit": self.unit, "threshold": self.threshold,
            "seed": self.scoring.seed, "clusters": self.partitioning.clusters,
            "cut_clusters": self.partitioning.cut_clusters or None, "slices": listed(self.slices),
            "baselines": listed(self.baseline), **self.learning.settings, "partition": self.partitioning.rules,
            "members": self.members, "test_sets": o.test_sets(self.test_set), "assessment": self.scoring.settings,
        }  # fmt: skip
        base = settings.read_checked(self.config) if self.config else {}
        if table is not None and base.get("table") != str(table):
            base.pop("table_sha256", None)  # it belongs to the table named in the settings
        methods = _methods(listed(self.method), self.preset)
        chosen = settings.from_dict({**settings.merge(base, given), **methods})
        if methods and (base.get("methods") or base.get("method")):
            note(f"note: {'--preset' if self.preset else '--method'} replaces the methods of {self.config}")
        return chosen


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The options of a fit to the train part of a table."""

    target: o.Target = None
    task: o.Task = None
    method: o.Method = None
    members: o.Members = None
    learning: o.Learning
    cluster: o.Cluster = None
    seed: o.Seed = None
    config: o.Config = None

    def settings(self, folder: Path) -> Settings:
        """The settings of the fit: those of the file, overridden by options.

        Raises:
            SettingsError: if there are several methods.
        """
        from shiftbench.pipeline import settings

        given = {
            "table": str(folder), "target": self.target, "task": self.task, "seed": self.seed,
            "clusters": listed(self.cluster, "+,"), **self.learning.settings, "members": self.members,
        }  # fmt: skip
        base = settings.read_checked(self.config) if self.config else {}
        for name in ("table_sha256", "partition"):  # of the table that the folder was made from
            base.pop(name, None)
        methods = _methods((self.method,) if self.method else (), None)
        chosen = settings.from_dict({**settings.merge(base, given), **methods})
        if len(chosen.methods) > 1:
            raise SettingsError(f"expected one method to fit, found {len(chosen.methods)}. Name one with --method.")
        return chosen


def run(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="NAME_OR_PATH",
            help="A track, a table or a folder of partitions; default: as settings.",
            autocompletion=o.starting(o.track_names),
        ),
    ] = None,
    *,
    given: TableRun,
    work: Work,
) -> None:
    """From a table, or the data of a track, to a report: partition, fit, predict, assess beside baselines.

    `shiftbench run TRACK --help` lists the options of a track.
    """
    from shiftbench import pipeline

    inputs = [path for path in (table, given.config) if path is not None]
    with together(work.out, "run", overwrite=work.overwrite, resumes=True, inputs=inputs) as refused:
        if table is not None and table.suffix == ".toml":
            found = f"{table}: expected a track or a table, found settings"
            raise SettingsError(f"{found}. Name them with --config {table}.")
        if table is not None:
            _require_known(table)
        chosen = given.settings(table)
        if refused:
            pipeline.require_valid(chosen)
    folder = work.out or o.out_path("run", table=Path(chosen.table).name.split(".")[0], target=chosen.target)
    inputs = [*map(Path, (chosen.table, *chosen.test_sets.values())), *([given.config] if given.config else [])]
    with working(folder, "run", work.computing, overwrite=work.overwrite, inputs=inputs, settings=chosen) as (
        place, cores, progress,
    ):  # fmt: skip
        outcome = pipeline.run(chosen, place, cores=cores, progress=progress)
        page = folder / write(outcome.report, place / "report").relative_to(place)
    show(outcome.report, folder=folder, full=given.scoring.full)
    tell_records([outcome.report], [page])
    say(f"report: {page}")


def partition(
    table: o.Table,
    out: o.Out = None,
    *,
    target: o.Target = None,
    partitioning: o.Partitioning,
    seed: o.Seed = None,
    config: o.Config = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Divide a table into train, dev_in, dev_out, eval_in, eval_out; write manifest and leakage report."""
    from shiftbench import pipeline
    from shiftbench.io import tables
    from shiftbench.pipeline import settings

    with together(out, "partition", overwrite=overwrite, inputs=[table]) as refused:
        base = settings.read_checked(config) if config else {}
        given = {**partitioning.rules, "seed": seed}
        rules = pipeline.rules_of(settings.merge({"seed": base.get("seed", 0), **base.get("partition", {})}, given))
        # Combined with the settings file below:
        chosen = (rules, target, partitioning.clusters, partitioning.cut_clusters)
        cut = partitioning.cut_clusters or base.get("cut_clusters", False)
        clusters = partitioning.clusters or tuple(settings.names(base.get("clusters", ())))
        target = target or base.get("target")

        def read() -> tuple[pl.DataFrame, list[str]]:
            frame = tables.read_table(table)
            tables.require(frame, [*clusters, *([target] if target else [])], where=table.name)
            return frame, list(
                tables.expand(settings.names(base.get("drop", ())), frame.columns, what="column to drop")
            )

        if refused:
            frame, _ = read()
            pipeline.own_ids(pipeline.kept_apart(rules, clusters=clusters, cut=cut), frame)
    folder = out or o.out_path("partition", table=table.name.split(".")[0])
    inputs = [table, *([config] if config else [])]
    with (
        writing(folder, "partition", overwrite=overwrite, inputs=inputs, settings=chosen, tell=note) as place,
        progress_bar() as progress,
    ):
        progress("read", 0, 1)
        frame, unseen = read()
        progress("partition", 0, 1)
        rules = pipeline.own_ids(pipeline.kept_apart(rules, clusters=clusters, cut=cut), frame)
        ids = tables.native_ids(frame, rules.id, where=table.name)
        unseen += [target] if target else []
        made = pipeline.divide(
            frame, rules, place, ids=ids, source=table, clusters=clusters, unseen=unseen, write_parts=True
        )
    _say_parts(made, target)
    say(f"written to {folder}")


def _say_parts(made: Divided, target: str | None) -> None:
    """Print the numbers of records of a partition, what is odd about it, and its hash."""
    for name, count in made.parts.counts.items():
        say(f"{name:9}{count:>12,}")
    for reason, count in made.parts.unused.items():
        say(f"{'unused':9}{count:>12,}  {reason}")
    for warning in made.notes:
        note(f"warning: {warning}")
    if not target:
        note("note: near-duplicates of train were searched in every column without a role; --target excludes one")
    say(f"manifest {made.manifest.hash}")


def fit(
    folder: Annotated[Path, typer.Argument(help="Folder that `shiftbench partition` wrote.", show_default=False)],
    *,
    given: Fit,
    work: Work,
) -> None:
    """Fit a method to the train part of a partitioned table; an interrupted fit is resumed."""
    from shiftbench import pipeline
    from shiftbench.pipeline import settings

    with together(work.out, "fit", overwrite=work.overwrite, resumes=True, inputs=[folder]) as refused:
        chosen = given.settings(folder)
        if refused:
            pipeline.fit_job(chosen, folder)
    name = settings.title(chosen.methods[0]) if chosen.methods else settings.DEFAULT_METHOD
    model = work.out or folder.parent / o.out_path("fit", folder=folder.name, method=name)
    inputs = [folder, *([given.config] if given.config else [])]
    with working(model, "fit", work.computing, overwrite=work.overwrite, inputs=inputs, settings=chosen) as (
        place, cores, progress,
    ):  # fmt: skip
        pipeline.fit_parts(chosen, folder, place, cores=cores, progress=progress)
    say(f"fitted to {model}")


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that `shiftbench fit` wrote.", show_default=False)],
    table: o.Table,
    out: o.Out = None,
    *,
    id_column: o.IdColumn = None,
    computing: o.Computing,
    overwrite: o.Overwrite = False,
) -> None:
    """Predict every row of a table; writes one Parquet file with the predictions of each member."""
    from shiftbench import pipeline
    from shiftbench.methods import fitted_folder
    from shiftbench.pipeline import cost

    path = out or o.out_path("predict", table=table.name.split(".")[0])
    fitted_folder.read(model)  # refused here rather than by workers
    with computed(computing, path.parent, model) as cores, progress_bar() as progress:
        predicted = pipeline.predict_table(
            model, table, path, id_column=id_column, cores=cores, overwrite=overwrite, progress=progress
        )
    say(f"{counted(len(predicted), 'prediction')} of {counted(predicted.ensemble.members, 'member')} written to {path}")
    if (spent := cost.of_file("", path)) and spent.predict_seconds is not None:
        each = 1000 * spent.predict_seconds / spent.predicted
        say(f"took {each:.3g} ms per record, and {(spent.predict_bytes or 0) / 1e6:,.0f} MB of memory at most")
