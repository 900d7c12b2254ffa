"""Reports on stored outputs of translation systems, speech recognisers, language models: whatever answers with text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles.ensemble import Index
from shiftbench.errors import PredictionsError, ShiftbenchError, quoted
from shiftbench.io import files
from shiftbench.progress import Progress, silent
from shiftbench.report.picture import Picture
from shiftbench.scores.score import System
from shiftbench.track import ScoredFiles, Task
from shiftbench.tracks.translation import evaluation, outputs, remarks, schema, scoring
from shiftbench.tracks.translation.evaluation import SHIFT, Evaluation
from shiftbench.tracks.translation.lines import Names
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.outputs.reader import listed
from shiftbench.tracks.translation.paper.figures import together
from shiftbench.tracks.translation.scoring import Judged

MOST_NAMED = 3
COLUMNS = {
    "id": "--id", "source": "", "reference": "--target", "text": "--answer", "uncertainty": "--uncertainty",
    "error": "--error", "quality": "", "correct": "", "shifted": "--shifted", "document": "--cluster", "part": "",
    "score": "", "log_probability": "", "token_log_probabilities": "", "tokens": "", "hypotheses": "", "samples": "",
    **dict.fromkeys(schema.ANOMALIES, ""),
}  # fmt: skip
"""What a file of stored outputs may call otherwise, and the option of `assess` that names it, if there is one."""
OF_TRUTH = {"id", "source", "reference", "shifted", "document", "part", *schema.ANOMALIES}
OPERATOR = re.compile(r"[=<>(\"']")  # in a condition, and hardly in the name of a column
CAPTION = (
    "Rows and columns are the anomalies that sentences are marked with. On the diagonal stands how many have one; "
    "elsewhere how many of those with the row’s anomaly have the column’s, too."
)
INSIDE = "the references of the file"
NEEDS = {
    **dict.fromkeys(
        (scoring.GLEU_ERROR, scoring.CHRF_ERROR, scoring.EXACT), "texts and references (in the file, or by --data)"
    ),
    scoring.GIVEN: "error, quality or correct",
}


def score_files(
    predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *,
    names: Mapping[str, Sequence[str]] | None = None, progress: Progress | None = None,
) -> list[ScoredFiles]:  # fmt: skip
    """The scores of stored outputs, for each task that all files have what is needed for.

    Args:
        predictions: name → file, see `outputs.read`.
        truth: a prepared folder, or a file of sentences with references, such as the first file itself. Its references
            replace those of the files.
        tasks: whose errors they are.
        names: what the files call columns or keys, by `COLUMNS`; each is in one of the files at least. Of `shifted` it
            may be a condition over columns, such as 'origin == "wikiquote"'.
        progress: called with the lines read, and the systems scored.

    Raises:
        PredictionsError: naming all that is wrong with the files, and sentences without an answer.
        ShiftbenchError: for a truth that is invalid.
    """
    say = progress or silent
    condition, named = _condition(names or {}, several=len({*predictions.values(), truth}) > 1)
    read, paths = _read(predictions, named, say)
    inside = next((name for name, path in paths.items() if path == truth), None)
    held = Evaluation.open(truth, names=_of_truth(named)) if inside is None else Evaluation(INSIDE, read[inside])
    _require_met(named, [*predictions.values(), truth])
    if condition:
        held = held.marked(condition)
    lined = _lined_up(read, paths, held)
    judged = {
        split: (rows, _judged({name: _with_truth(each, held, rows) for name, each in own.items()}))
        for split, (rows, own) in lined.items()
    }
    about = _tasks(judged, tasks, paths)
    recipe = _recipe(paths, truth, held, judged)
    notes = (*held.notes, *_left_out(held, judged), *_remarks(held, judged))
    return [_scored(task, held, judged, recipe, notes) for task in about]


def _condition(names: Mapping[str, Sequence[str]], *, several: bool) -> tuple[str, Names]:
    """The condition of what is shifted ("" if it is a column, or not named), and all other names."""
    own = "".join(names.get(SHIFT, ()))
    condition = own if OPERATOR.search(own) else ""
    rest = {key: each for key, each in names.items() if not (condition and key == SHIFT)}
    return condition, replace(Names.checked(rest), met=set() if several else None)


def _of_truth(named: Names) -> Names:
    """The names of what a file of sentences with references may hold."""
    return Names({key: own for key, own in named.of.items() if key in OF_TRUTH}, named.met)


def _require_met(named: Names, files: Sequence[Path]) -> None:
    """Refuse names that no file has.

    Raises:
        PredictionsError: naming them.
    """
    absent = {key: own for key, own in named.of.items() if named.met is not None and key not in named.met}
    places = ", ".join(dict.fromkeys(str(file) for file in files))
    if absent:
        raise PredictionsError(
            *(
                f"{key}: expected {', '.join(map(quoted, own))} in one of {places}, found it in none. Correct the name."
                for key, own in absent.items()
            )
        )


def _read(
    predictions: Mapping[str, Path], named: Names, progress: Progress
) -> tuple[dict[str, Outputs], dict[str, Path]]:
    """The outputs of each system, and its file; a table may have a column for each of several systems.

    Raises:
        PredictionsError: naming all that is wrong with the files.
    """
    read, paths, problems = dict[str, Outputs](), dict[str, Path](), list[str]()
    for name, path in predictions.items():
        try:
            systems = outputs.read_systems(path, names=named, progress=progress)
        except ShiftbenchError as error:
            problems += error.problems
            continue
        for system, found in systems.items():
            own = system or name if len(predictions) == 1 else ", ".join(filter(None, (name, system)))
            read[own], paths[own] = found, path
    if problems:
        raise PredictionsError(*problems)
    return read, paths


def _judged(systems: Mapping[str, Outputs]) -> dict[str, Judged]:
    """Systems ready to be scored; several with texts also by how far they are from each other."""
    found = {name: Judged(each) for name, each in systems.items()}
    if len(found) == 1 or not all(each.texts for each in systems.values()):
        return found
    apart = scoring.among([*found.values()])
    return {
        name: replace(each, further={scoring.AMONG: values} if scoring.telling(values) else {})
        for (name, each), values in zip(found.items(), apart, strict=True)
    }


def _scored(
    task: Task, held: Evaluation, judged: Mapping[str, tuple[Index, Mapping[str, Judged]]], recipe: Mapping[str, Any],
    notes: tuple[str, ...],
) -> ScoredFiles:  # fmt: skip
    parts = list[tuple[Records, list[Scored]]]()
    for split, (rows, systems) in judged.items():
        found = [scoring.scored(System(name, "model"), each, task.name) for name, each in systems.items()]
        parts.append((held.records(split, rows), found))
    names = [name for _, systems in judged.values() for name in systems]
    title = f"{task.title}: {' · '.join(dict.fromkeys(names))} on {held.origin}"
    every = [each for _, systems in judged.values() for each in systems.values()]
    return ScoredFiles(task, parts, report_options(title, task, every, recipe), notes, source=recipe)


def pictures(found: ScoredFiles) -> tuple[list[Picture], list[str]]:
    """Which anomalies occur together, if sentences are marked with any."""
    return anomalies(found.source), []


def anomalies(recipe: Mapping[str, Any]) -> list[Picture]:
    """A picture of the anomalies that a recipe counts; none if it counts none."""
    if not (drawn_from := recipe.get("anomalies")):
        return []
    drawn = together(drawn_from["together"], drawn_from["sentences"])
    return [Picture("anomalies", "Anomalies that occur together", CAPTION, drawn, few_colours=True)]


def report_options(title: str, task: Task, judged: Sequence[Judged], recipe: Mapping[str, Any]) -> Options:
    """How a report by the error of a task is made."""
    name, threshold = scoring.ERROR_NAMES[task.name], task.threshold
    if task.name == scoring.GIVEN:
        _, name, threshold = judged[0].error
    return Options(title, task.name, threshold=threshold, error_name=name, recipe=recipe)


# --- which record is which --------------------------------------------------------------------------------------------


def _lined_up(
    read: Mapping[str, Outputs], paths: Mapping[str, Path], held: Evaluation
) -> dict[str, tuple[Index, dict[str, Outputs]]]:
    """The rows of each split that any file has an answer for, and every file's outputs for them, in their order.

    Raises:
        PredictionsError: naming sentences without an answer, and files that have none at all.
    """
    ids = held.sentences.ids
    places = {name: {each: at for at, each in enumerate(found.ids)} for name, found in read.items()}
    lined = dict[str, tuple[Index, dict[str, Outputs]]]()
    problems = list[str]()
    for split, rows in held.splits().items():
        about = {name: [known.get(ids[row], -1) for row in rows] for name, known in places.items()}
        if all(max(own) < 0 for own in about.values()):
            continue
        for name, own in about.items():
            lacking = [ids[row] for row, at in zip(rows, own, strict=True) if at < 0]
            if lacking:
                problems.append(
                    f"{paths[name]}: expected an answer for each of the {len(rows):,} sentences of {split}, found none "
                    f"for {len(lacking):,} ({_named(lacking)}). Add them, or assess the files one by one."
                )
        if not problems:
            lined[split] = (rows, {name: read[name].select(np.array(own)) for name, own in about.items()})
    if not lined and not problems:
        problems = [
            f"{path}: expected answers to sentences of {held.origin} ({_named(ids)}), found others "
            f"({_named(read[name].ids)}). Are they of the same set?"
            for name, path in paths.items()
        ]
    if problems:
        raise PredictionsError(*problems)
    return lined


def _named(ids: Sequence[str]) -> str:
    rest = len(ids) - MOST_NAMED
    return ", ".join(quoted(each) for each in ids[:MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _with_truth(found: Outputs, held: Evaluation, rows: Index) -> Outputs:
    truth = held.sentences.select(rows)
    return replace(
        found,
        sources=found.sources if truth.sources is None else truth.sources,
        references=found.references if truth.references is None else truth.references,
    )


def _tasks(
    judged: Mapping[str, tuple[Index, Mapping[str, Judged]]], tasks: Sequence[Task], paths: Mapping[str, Path]
) -> list[Task]:
    """The tasks that every file has what is needed for.

    Raises:
        PredictionsError: if there is none.
    """
    every = [each.tasks for _, systems in judged.values() for each in systems.values()]
    about = [task for task in tasks if all(task.name in own for own in every)]
    if not about:
        wanted = " or ".join(dict.fromkeys(NEEDS[task.name] for task in tasks))
        systems = {name: each for _, own in judged.values() for name, each in own.items()}
        raise PredictionsError(
            f"expected files of which each has {wanted}, found none of these in all of them. Add them, or name the "
            "sentences with their references by --data.",
            *(_unread(paths[name], each.found) for name, each in systems.items() if each.found.columns),
        )
    return about


def _unread(path: Path, found: Outputs) -> str:
    """Entries of a file that may be the missing ones under another name."""
    own = {
        "text": bool(found.texts), "reference": found.references is not None, "source": found.sources is not None,
        "error": found.error is not None, "quality": found.quality is not None, "correct": found.correct is not None,
    }  # fmt: skip
    unknown = [name for name in found.columns if name not in OF_TRUTH]
    words = ", ".join(f"{COLUMNS[key] or f'--column {key}'}{' ' if COLUMNS[key] else '='}NAME" for key in own)
    return (
        f"{path}: expected columns (or keys) called {', '.join(own)}, found "
        f"{', '.join(key for key, there in own.items() if there) or 'none of them'}, and with other names "
        f"{listed(unknown)}. If they are among these, tell which by {words}."
    )


def _left_out(held: Evaluation, judged: Mapping[str, Any]) -> Iterator[str]:
    for split, rows in held.splits().items():
        if split not in judged:
            yield f"{split}: not scored, since there is no answer to any of its {len(rows):,} sentences"


def _remarks(held: Evaluation, judged: Mapping[str, tuple[Index, Mapping[str, Judged]]]) -> Iterator[str]:
    """Caveats on the references that readers of the scores should know."""
    for _, systems in judged.values():
        yield from remarks.on_tokens({name: each.found for name, each in systems.items() if each.has_references})
    yield from on_references(held, [rows for rows, _ in judged.values()])


def on_references(held: Evaluation, rows: Sequence[Index]) -> Iterator[str]:
    """A sentence if in-domain and shifted ones of these rows have different numbers of references."""
    chosen = held.sentences.select(np.concatenate(rows))
    yield from remarks.on_references(chosen.references, evaluation.shifted(chosen, held.origin))


def _recipe(
    predictions: Mapping[str, Path], truth: Path, held: Evaluation,
    judged: Mapping[str, tuple[Index, Mapping[str, Judged]]],
) -> dict[str, Any]:  # fmt: skip
    return {
        "track": {"name": schema.TRACK, "origin": held.origin},
        "partition": {"counts": {split: len(rows) for split, (rows, _) in judged.items()}},
        "truth": truth.name,
        **recipe_entries(held, {split: rows for split, (rows, _) in judged.items()}),
        "systems": {name: {"file": path.name, "sha256": files.sha256(path)} for name, path in predictions.items()},
    }


def recipe_entries(held: Evaluation, splits: Mapping[str, Index]) -> dict[str, Any]:
    """A recipe's entries on sentences: a hash, lengths, sacreBLEU's signatures, and anomalies that occur together."""
    found: dict[str, Any] = {"data": {split: digest(held.sentences.select(rows)) for split, rows in splits.items()}}
    if (references := held.sentences.references) is not None:
        found["sacrebleu"] = scoring.signatures(references)
    chosen = held.sentences.select(np.concatenate([*splits.values()]))
    found["lengths"] = evaluation.mean_lengths(chosen)
    if marked := evaluation.flags(chosen):
        found["anomalies"] = {"sentences": len(chosen), "together": evaluation.together(marked)}
    return found


def digest(sentences: Outputs) -> str:
    """A hash of sentences: ids, sources and references."""
    held = hashlib.sha256()
    for row, name in enumerate(sentences.ids):
        source = sentences.sources[row] if sentences.sources is not None else ""
        references = sentences.references[row] if sentences.references is not None else ()
        held.update("\t".join((name, source, *references)).encode() + b"\n")
    return held.hexdigest()
