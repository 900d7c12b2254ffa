"""The methods as values: from pairs of sequences to a folder. PyTorch is imported to train or predict."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench.errors import ArrayError, SettingsError, counted
from shiftbench.io import files
from shiftbench.methods.contract import Fitted, Job, Method, Prepared
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.sequences import settings as of
from shiftbench.methods.sequences.dataset import learnable, training_problems

if TYPE_CHECKING:
    from shiftbench.methods.sequences.answers import SequenceAnswers
    from shiftbench.methods.sequences.dataset import PairDataset, Sources, Vocabulary

SPECIAL = ("size", "bos", "eos", "pad", "unk")


def prepare(job: Job) -> Prepared:
    """Check both data sets, reading each pair once; returns what distinguishes this fit from any other.

    Raises:
        ArrayError: naming tokens that the vocabulary lacks; no pairs that can be learnt from.
        SettingsError: if train and dev have different vocabularies.
    """
    parts: dict[str, PairDataset] = {"train": job.train, "dev_in": job.dev}
    longest = job.settings.longest
    if problems := [text for name, part in parts.items() for text in training_problems(part, name, longest=longest)]:
        raise ArrayError(*problems)
    described = [about_vocabulary(part.vocabulary) for part in parts.values()]
    require_vocabulary(described[0], described[1], "dev_in")
    learnt = len(learnable(job.train.lengths, longest))
    data = {name: len(part) for name, part in parts.items()}
    record: dict[str, Any] = {
        "vocabulary": described[0],
        "data": {**data, "left_out": len(job.train) - learnt, "sha256": [part.digest for part in parts.values()]},
    }
    return Prepared({**record, "libraries": job.libraries})


def about_vocabulary(vocabulary: Vocabulary) -> dict[str, Any]:
    """The identity of a vocabulary: its size, its special tokens, and the SHA-256 of all tokens."""
    text = "\n".join(vocabulary.pieces(range(vocabulary.size)))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {**{name: int(getattr(vocabulary, name)) for name in SPECIAL}, "sha256": digest}


def require_vocabulary(wanted: dict[str, Any], found: dict[str, Any], what: str) -> None:
    """Check that data have the vocabulary that networks learnt.

    Raises:
        SettingsError: if they have another.
    """
    if found != wanted:
        sizes = f"{wanted['size']:,} tokens, found another of {found['size']:,}"
        raise SettingsError(f"{what}: expected the vocabulary of train, of {sizes}. Prepare both together.")


def train_missing(job: Job) -> None:
    """Train members that are missing or incomplete in the folder of the fit; keep the weights that are best on dev_in.

    Raises:
        ShiftbenchError: if a loss is not finite.
    """
    from shiftbench.methods import member_training
    from shiftbench.methods.sequences import member

    folder, parts = job.folder, (job.train, job.dev)
    member_training.train_missing(
        folder,
        member_training.MemberTraining(
            job.settings.members,
            job.settings.steps,
            lambda number, report: member.train(folder, parts, number, report=report),
            member.__name__,
            member_training.sharing(folder, parts),
        ),
        cores=job.cores,
        progress=job.progress,
    )


def answer(dataset: PairDataset, fitted: Fitted) -> SequenceAnswers:
    """Predictions of the ensemble for each record: hypotheses and measures, computed block by block on demand.

    Raises:
        SettingsError: if members are missing or damaged, or the data set has another vocabulary.
    """
    from shiftbench.methods import member_files, training
    from shiftbench.methods.sequences import member
    from shiftbench.methods.sequences.answers import Ensemble, SequenceAnswers

    record, folder = fitted.record, fitted.folder
    require_vocabulary(record["vocabulary"], about_vocabulary(dataset.vocabulary), str(folder))
    count = record["settings"]["members"]
    member_files.weights(folder).require(count)
    nets = [member.load(folder, record, number).to(training.device()) for number in range(count)]
    return SequenceAnswers(dataset, fitted, Ensemble(nets, dataset.vocabulary, lambda row: dataset.pair(row)[0]))


def describe(_dataset: PairDataset, fitted: Fitted) -> str:
    """The number of networks, the step at which each was best, and the pairs that were left out."""
    members, out = fitted.record["settings"]["members"], fitted.record["data"]["left_out"]
    text = f"{members} networks that differ by seed (best after {best_steps(fitted.folder, members)})"
    return text + (
        f"; {counted(out, 'pair')} of train {'was' if out == 1 else 'were'} empty or too long" if out else ""
    )


def prepare_marian(job: Job) -> Prepared:
    """Check that there are models where the settings name them.

    Raises:
        SettingsError: naming what is missing.
    """
    data = {name: [len(part), part.digest] for name, part in (("train", job.train), ("dev_in", job.dev))}
    return Prepared({"models": model_hashes(job.settings.models), "data": data, "libraries": job.libraries})


def model_hashes(folders: tuple[str, ...]) -> list[dict[str, str]]:
    """The SHA-256 of each file of each model.

    Raises:
        SettingsError: naming folders that are missing or hold no model.
    """
    places = [Path(folder) for folder in folders]
    if problems := [
        f"models: expected the folder of a model with config.json, found none at {place}. Correct the path."
        for place in places
        if not (place / "config.json").is_file()
    ]:
        raise SettingsError(*problems)
    return [{path.name: files.sha256(path) for path in sorted(place.iterdir()) if path.is_file()} for place in places]


def answer_by_marian(dataset: PairDataset | Sources, fitted: Fitted) -> SequenceAnswers:
    """Predictions of the ensemble for each record, whose sources are read as text; see `answer`.

    Raises:
        SettingsError: if models have changed since the fit, cannot be read, or have different vocabularies.
    """
    from shiftbench.methods import training
    from shiftbench.methods.sequences import marian
    from shiftbench.methods.sequences.answers import Ensemble, SequenceAnswers

    folders = tuple(fitted.record["settings"]["models"])
    if model_hashes(folders) != fitted.record["models"]:
        raise SettingsError(f"{fitted.folder}: expected the models as they were, found others. Fit again.")
    members = marian.members(folders, training.device())
    words, settings = members[0].vocabulary, fitted.record["settings"]
    most = min(each.positions for each in members)  # tokens of a text that every model has a position for
    limits = {name: min(settings[name], most) for name in ("longest", "most_tokens")}
    limited = replace(fitted, record={**fitted.record, "settings": {**settings, **limits}})
    return SequenceAnswers(
        dataset, limited, Ensemble(members, words, lambda row: np.array(words.encode(dataset.source(row)), np.int64))
    )


def describe_marian(_dataset: PairDataset | Sources, fitted: Fitted) -> str:
    """The number of models."""
    count = len(fitted.record["models"])
    return f"{count} trained {'models' if count > 1 else 'model'} of the Marian form, read from disk"


TRANSFORMER = Method(
    "transformer", "Transformer", of.TransformerSettings, prepare, answer, describe,
    train=lambda job, _data: train_missing(job), libraries=("torch",), extra="neural",
)  # fmt: skip
MARIAN = Method(
    "marian", "Marian models on disk", of.MarianSettings, prepare_marian, answer_by_marian, describe_marian,
    libraries=("torch", "transformers", "sentencepiece"), extra="marian",
)  # fmt: skip
