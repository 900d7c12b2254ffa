"""Given targets scored by models of CTranslate2: the log-probability of each token, but not of all others.

So what it finds are `Hypotheses`, which have the measures of scores alone; those of whole distributions need
`decoding.forced`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles import Hypotheses
from shiftbench.errors import ArrayError, MissingExtraError, SettingsError, first_line

Pieces = Sequence[str]


def scored(
    folders: Sequence[str | os.PathLike[str]],
    sources: Sequence[Pieces],
    targets: Sequence[Sequence[Pieces]],
    *,
    cores: int = 1,
    batch_tokens: int = 2048,
) -> Hypotheses:
    """Log-probabilities of each model for given targets of each source.

    Args:
        folders: of converted models, one for each member.
        sources: the pieces of each source, as the models' converters expect them: with the end of the sentence ("</s>")
            where they were trained with it.
        targets: one or more of each source, without an end, whose log-probability is added.
        cores: threads of a model.
        batch_tokens: tokens that are scored together.

    Raises:
        MissingExtraError: if ctranslate2 is not installed.
        SettingsError: if a folder holds no such model, or there are no folders.
        ArrayError: if there are no sources, one has no target, or their numbers differ.
    """
    if len(sources) != len(targets) or not sources or not all(targets):
        raise ArrayError(
            f"targets: expected one or more of each source, found {len(targets):,} lists for {len(sources):,} sources, "
            f"{sum(not each for each in targets):,} of them empty."
        )
    if not folders:
        raise SettingsError("folders: expected one of a converted model for each member, found none.")
    pairs = [(list(source), list(each)) for source, own in zip(sources, targets, strict=True) for each in own]
    logs = [np.concatenate(list(_of_model(Path(folder), pairs, cores, batch_tokens))) for folder in folders]
    return Hypotheses(
        np.minimum(np.stack(logs), 0.0),
        np.array([len(target) + 1 for _, target in pairs]),
        np.array([len(own) for own in targets]),
    )


def _of_model(
    folder: Path, pairs: Sequence[tuple[list[str], list[str]]], cores: int, batch_tokens: int
) -> Iterator[npt.NDArray[np.float64]]:
    found = _translator(folder, cores).score_batch(
        [source for source, _ in pairs],
        [target for _, target in pairs],
        max_batch_size=batch_tokens,
        batch_type="tokens",
        max_input_length=0,  # cuts nothing: tokens that are cut have no score
    )
    for each, (_, target) in zip(found, pairs, strict=True):
        if len(each.log_probs) != len(target) + 1:
            raise ArrayError(
                f"targets: expected the log-probability of {len(target):,} tokens and their end, found "
                f"{len(each.log_probs):,} of {folder}."
            )
        yield np.array(each.log_probs, np.float64)


def _translator(folder: Path, cores: int) -> Any:
    try:
        import ctranslate2  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError(
            f"expected ctranslate2, found: {error}. Install it: pip install 'shiftbench[ctranslate2]'"
        ) from None
    try:
        return ctranslate2.Translator(str(folder), device="cpu", intra_threads=cores, compute_type="float32")
    except (RuntimeError, ValueError) as error:
        raise SettingsError(
            f"{folder}: expected a model converted for CTranslate2, found: {first_line(error)}. Convert one there."
        ) from None
