"""The signatures at the end of docs/adding-a-track.md, from the code: `python -m tools.signatures` writes them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from shiftbench.io import files
from shiftbench.pipeline.study import EvaluationSet, Study
from shiftbench.track import Example, Import, Intake, Show, Track
from shiftbench.track.contract import CALLS, COMMON, Run, ScoreFiles
from shiftbench.track.paper.output import Paper

PAGE = Path(__file__).resolve().parent.parent / "docs/adding-a-track.md"
HEADING = "## 7. Signatures\n"
WIDTH, STAYS = 118, "\N{NO-BREAK SPACE}"
COMMANDS = {  # what a command calls with a track's options
    "Example.write": (Example, "example"), "Track.prepare": (Track, "prepare"), "Show.draw": (Show, "show"),
    "Import.write": (Import, "import"),
}  # fmt: skip
ARGUMENTS = {  # what other functions are called with; of those that are not here only the types are known
    "Track.open_prepared": CALLS["open_prepared"], "Track.pictures": CALLS["pictures"],
    "Track.withhold": ("source", "split", "inputs", "truth"),
    "Paper.tables": ("reports",), "Paper.figures": ("reports", "folder"),
    "Intake.parse": ("file",), "Intake.restore": ("arrays", "folder"), "Intake.example": ("folder", "records"),
    "Intake.records": ("truth", "task"), "Intake.misfits": ("arrays", "records"), "Intake.labels": ("truth", "task"),
}  # fmt: skip
IMPORTED = {  # module → what a track imports from it
    "shiftbench.track": (
        "Track", "Task", "Example", "Show", "Import", "Option", "Intake", "PublicRecords", "Prepared", "BatchJob",
        "RunOptions", "RunOptions.assessment", "ScoredFiles", "read_manifest", "MANIFEST",
    ),
    "shiftbench.partition.settings": ("PARTITIONS", "SPLITS"),
    "shiftbench.pipeline.study": (
        "Study", "EvaluationSet", "run", "fitted", "Planned", "Fitted", "Predicted", "Selection", "Result",
    ),
    "shiftbench.pipeline.settings": ("Assessment", "Assessment.intervals"),
    "shiftbench.assessment.scored": (
        "Records", "given", "regression", "classification", "predicted", "Scored", "Scored.with_set"
    ),
    "shiftbench.assessment.assess": ("Options",),
    "shiftbench.assessment.predictions": ("Predictions", "Predictions.line_up", "Predictions.save", "load"),
    "shiftbench.ensembles": ("Gaussian", "Categorical"),
    "shiftbench.scores.metric": ("Metric",),
    "shiftbench.scores.resampling": ("Terms", "SetTerms"),
    "shiftbench.scores.score": ("Text",),
    "shiftbench.report.picture": ("Picture",),
    "shiftbench.track.paper.figure": ("PaperFigure",),
    "shiftbench.track.paper.output": ("Paper",),
    "shiftbench.track.paper.run": ("names",),
    "shiftbench.track.paper.table": ("Table", "Row", "Column", "Cell", "Cell.of"),
    "shiftbench.track.parsed": ("pack", "PartlyRead"),
    "shiftbench.io.files": (
        "replacing", "write_text", "write_json", "read_text", "read_bytes", "sha256", "name_of"
    ),
    "shiftbench.errors": ("ShiftbenchError",),
    "shiftbench.progress": ("Progress",),
}  # fmt: skip


def page() -> str:
    """The page with the signatures of the code in the two blocks of its last section."""
    before, heading, section = PAGE.read_text("utf-8").partition(HEADING)
    blocks = iter((_block(written()), _block(imported())))
    return before + heading + re.sub(r"```text\n.*?```\n", lambda _: next(blocks), section, flags=re.DOTALL)


def written() -> Iterator[str]:
    """What the author of a track writes."""
    yield _signature("Track.run", Run.__call__)
    yield _signature("Track.score_files", ScoreFiles.__call__)
    for name, (kind, command) in COMMANDS.items():
        named = COMMON.get(command, ())
        words = [*CALLS[command], *["*"] * bool(named), *named, "**options"]
        yield f"{name}({', '.join(words)}) -> {_types(kind, name)[1]}"
    for kind in (Track, Paper, Intake):
        for field, annotation in kind.__annotations__.items():
            if annotation.startswith("Callable[["):
                takes, returns = _types(kind, name := f"{kind.__name__}.{field}")
                words = [*map(_argument, ARGUMENTS.get(name, [""] * len(takes)), takes)]
                yield f"{name}({', '.join(words)}) -> {returns}"
    for kind in (Study, EvaluationSet):
        for field, annotation in kind.__annotations__.items():
            yield _argument(f"{kind.__name__}.{field}", annotation)
        for field, method in vars(kind).items():
            if inspect.isfunction(method) and not field.startswith("_") and field != "claim":
                may = "" if getattr(method, "__isabstractmethod__", False) else f"{STAYS * 2}# may be left out"
                yield _signature(f"{kind.__name__}.{field}", method) + may.replace(" ", STAYS)


def imported() -> Iterator[str]:
    """What the author of a track imports, by module."""
    for place, names in IMPORTED.items():
        module = importlib.import_module(place)
        yield place
        for name in names:
            value: Any = module
            for part in name.split("."):
                value = getattr(value, part)
            has_arguments = inspect.isclass(value) or inspect.isroutine(value)
            yield f"    {_signature(name, value) if has_arguments else f'{name} = {_plain(value)}'}"


def _types(kind: type[Any], name: str) -> tuple[list[str], str]:
    """What a field of `kind` that is a function takes, if that is known, and what it returns."""
    tree: Any = ast.parse(kind.__annotations__[name.split(".")[1]], mode="eval").body
    tree = tree.left if isinstance(tree, ast.BinOp) else tree  # without "| None"
    takes, returns = tree.slice.elts
    return [ast.unparse(each) for each in getattr(takes, "elts", ())], ast.unparse(returns)


def _signature(name: str, function: Callable[..., Any]) -> str:
    if inspect.isabstract(function):
        return f"{name}  # to be derived from, see above"
    found = inspect.signature(function)
    shown = list[str]()
    for each in found.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not any(word.startswith("*") for word in shown):
            shown.append("*")
        star = "*" * (each.kind is each.VAR_POSITIONAL) + "**" * (each.kind is each.VAR_KEYWORD)
        default = "" if each.default is each.empty else f" = {_plain(each.default)}"
        if each.name != "self":
            shown.append(_argument(star + each.name.lstrip("_"), each.annotation, default))
    returns = "" if inspect.isclass(function) or not found.return_annotation else f" -> {found.return_annotation}"
    return f"{name}({', '.join(shown)}){returns}"


def _argument(name: str, annotation: Any, default: str = "") -> str:
    """An argument, which stays on one line."""
    kind = "" if annotation is inspect.Parameter.empty else str(annotation)
    return (": ".join(filter(None, (name, kind))) + default).replace(" ", STAYS)


def _plain(value: Any) -> str:
    """A value in the notation of Python, `…` if it has no short one."""
    text = repr(value).removeprefix("collections.abc.")
    return "…" if text.startswith("<") or len(text) > WIDTH else text


def _block(lines: Iterator[str]) -> str:
    """A block of code, long lines of it wrapped."""

    def wrapped(line: str) -> Sequence[str]:
        indent = " " * (len(line) - len(line.lstrip(" ")) + 8)
        return textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )  # fmt: skip

    return "```text\n" + "".join(f"{each}\n" for line in lines for each in wrapped(line)).replace(STAYS, " ") + "```\n"


if __name__ == "__main__":
    files.write_text(PAGE, page())
