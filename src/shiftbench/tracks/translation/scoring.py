"""Scores of generated texts against references: errors by task, BLEU and chrF of a set; and their uncertainty."""

from __future__ import annotations

import importlib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import measures
from shiftbench.assessment.scored import Scored
from shiftbench.check import Vector
from shiftbench.ensembles import Hypotheses, Texts, ragged
from shiftbench.ensembles.ensemble import Index
from shiftbench.errors import MissingExtraError
from shiftbench.measures.texts import DIGITS, expected_agreement
from shiftbench.metrics import translation
from shiftbench.metrics.translation import chrf_statistics, sentence_gleu
from shiftbench.scores.resampling import SetTerms, Terms
from shiftbench.scores.score import System
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.reading import passages

Amounts = npt.NDArray[np.float64]

GLEU_ERROR, CHRF_ERROR, EXACT, GIVEN = "egleu", "chrf", "exact_match", "given"
ERROR_NAMES = {
    GLEU_ERROR: "100 − eGLEU", CHRF_ERROR: "100 − expected chrF", EXACT: "exact-match error", GIVEN: "error as given",
}  # fmt: skip
WRONG, QUALITY = "wrong answer", "100 − quality"
AMONG = "disagreement_among_systems"
HALF = 0.5  # threshold of errors of 0 or 1


@dataclass(frozen=True)
class Judged:
    """The texts of a system for N records, scored once for all tasks.

    found: the outputs, with the references of the records. further: uncertainties that are known besides.
    """

    found: Outputs
    further: Mapping[str, Vector] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The tasks that the outputs have what is needed for."""
        of_texts = [GLEU_ERROR, CHRF_ERROR, EXACT] if self.has_references else []
        given = (self.found.error, self.found.quality, self.found.correct)
        return [*of_texts, *[GIVEN] * any(each is not None for each in given)]

    @property
    def has_references(self) -> bool:
        """Whether there are texts and references."""
        return bool(len(self.found.texts)) and self.found.references is not None

    @cached_property
    def weights(self) -> Vector:
        """[H]."""
        return self.found.weights()

    @cached_property
    def best(self) -> Index:
        """The text of each record that weighs most [N]."""
        return self.found.best()

    @cached_property
    def gleu(self) -> Vector:
        """Sentence GLEU [H], against the reference where it is highest."""
        pairs = self._pairs
        return np.maximum.reduceat(sentence_gleu(pairs.texts, pairs.references), pairs.starts)

    @cached_property
    def of_chrf(self) -> Amounts:
        """The statistics of chrF [H, 18], against the first of the references where it is highest, as sacreBLEU."""
        pairs = self._pairs
        found = chrf_statistics(pairs.texts, pairs.references)
        return found[_first_highest(translation.chrf(found), pairs.starts)].astype(np.float64)

    @cached_property
    def of_bleu(self) -> Amounts:
        """The statistics of BLEU [N, 10] of the texts that weigh most."""
        assert self.found.references is not None
        return bleu_statistics([self.found.texts[place] for place in self.best], self.found.references)

    @cached_property
    def sets(self) -> dict[str, SetTerms]:
        """The statistics of records for BLEU and chrF: as they are, and with the first reference as the answer."""
        references = self.found.references
        assert references is not None
        firsts = [each[0] for each in references]
        ideal = {
            "bleu": bleu_statistics(firsts, references),
            "chrf": chrf_statistics(firsts, firsts).astype(np.float64),
        }
        found = {"bleu": self.of_bleu, "chrf": self.of_chrf[self.best]}
        return {name: SetTerms(*(Terms(amounts=each[name]) for each in (found, ideal))) for name in found}

    @cached_property
    def exact(self) -> Vector:
        """Whether the text that weighs most is one of the references [N], without white space around, in NFC."""
        references = self.found.references or []
        texts = [_normal(self.found.texts[place]) for place in self.best]
        same = [text in map(_normal, each) for text, each in zip(texts, references, strict=True)]
        return np.array(same, dtype=np.float64)

    def expected(self, values: Vector) -> Vector:
        """The mean [N] over texts of values [H], by weight."""
        return np.asarray(np.add.reduceat(values * self.weights, self.firsts))

    @cached_property
    def length(self) -> Vector | None:
        """The tokens of the text that weighs most [N], or else its words; None without texts."""
        if not self.found.texts:
            return None
        if self.found.lengths is not None:
            return self.found.lengths[self.best].astype(np.float64)
        return np.array([len(self.found.texts[place].split()) for place in self.best], dtype=np.float64)

    @cached_property
    def uncertainty(self) -> dict[str, Vector]:
        """Measures by name [N], the headline first; a constant named "" where there is none."""
        return {**uncertainty(self.found), **self.further} or {"": np.zeros(len(self.found))}

    @cached_property
    def error(self) -> tuple[Vector, str, float | None]:
        """The error of the outputs themselves [N], its name and its threshold."""
        if self.found.correct is not None:
            return (~self.found.correct).astype(np.float64), WRONG, HALF
        if self.found.error is not None:
            return self.found.error, ERROR_NAMES[GIVEN], None
        assert self.found.quality is not None
        return 100.0 - self.found.quality, QUALITY, None

    @cached_property
    def firsts(self) -> Index:
        """The first text of each record [N]."""
        return ragged.offsets(self.found.counts)[:-1]

    @cached_property
    def _pairs(self) -> _Pairs:
        return _Pairs.of(self.found)


@dataclass(frozen=True)
class _Pairs:
    """Each text with each reference of its record; starts: the first pair of each text [H]."""

    texts: list[str]
    references: list[str]
    starts: Index

    @classmethod
    def of(cls, found: Outputs) -> _Pairs:
        assert found.references is not None
        each = [
            references for references, count in zip(found.references, found.counts, strict=True) for _ in range(count)
        ]
        texts = [text for text, references in zip(found.texts, each, strict=True) for _ in references]
        sizes = np.array([len(references) for references in each], dtype=np.int64)
        return cls(texts, [text for references in each for text in references], np.cumsum(sizes) - sizes)


def _first_highest(values: Vector, starts: Index) -> Index:
    """The place of the first highest value of each run of values that begins at `starts`."""
    sizes = np.diff(starts, append=len(values))
    highest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, starts), sizes))
    return highest[np.searchsorted(highest, starts)]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


# --- sacreBLEU --------------------------------------------------------------------------------------------------------


def _sacrebleu() -> Any:
    try:
        return importlib.import_module("sacrebleu.metrics")
    except ImportError as error:
        raise MissingExtraError(
            f"BLEU: expected sacrebleu, found: {error}. Install it: pip install 'shiftbench[translation]'."
        ) from None


def bleu_statistics(texts: Sequence[str], references: Sequence[Sequence[str]]) -> Amounts:
    """The statistics of N texts for corpus BLEU [N, 10], as `shiftbench.metrics.texts.bleu` takes them.

    Raises:
        MissingExtraError: without sacrebleu.
    """
    metric = _sacrebleu().BLEU(force=True)
    most = max(map(len, references), default=1)
    streams = [[each[k] if k < len(each) else None for each in references] for k in range(most)]
    return np.array(metric._extract_corpus_statistics(texts, streams), dtype=np.float64)


def signatures(references: Sequence[Sequence[str]]) -> dict[str, str]:
    """sacreBLEU's signatures of BLEU and chrF with these references."""
    counts = {len(each) for each in references}
    found = {}
    for name, metric in (("bleu", _sacrebleu().BLEU(force=True)), ("chrf", _sacrebleu().CHRF())):
        metric.num_refs = counts.pop() if len(counts) == 1 else -1
        counts = {metric.num_refs}
        found[name] = str(metric.get_signature())
    return found


# --- systems ----------------------------------------------------------------------------------------------------------

ERRORS: dict[str, Callable[[Judged], Vector]] = {
    GLEU_ERROR: lambda judged: judged.expected(100.0 - judged.gleu),
    CHRF_ERROR: lambda judged: judged.expected(100.0 - translation.chrf(judged.of_chrf)),
    EXACT: lambda judged: 1.0 - judged.exact,
    GIVEN: lambda judged: judged.error[0],
}


def scored(system: System, judged: Judged, task: str) -> Scored:
    """A system by the error of a task."""
    found = judged.found
    known = judged.uncertainty
    means, sets = dict[str, Vector](), dict[str, SetTerms]()
    if judged.has_references:
        gleu = judged.gleu
        means = {
            "egleu": np.clip(judged.expected(gleu), 0.0, 100.0),
            "maxgleu": np.maximum.reduceat(gleu, judged.firsts),
            "gleu": gleu[judged.best],
            "exact_match": judged.exact,
        }
        sets = judged.sets
    if found.quality is not None:
        means["quality"] = found.quality
    first = next(iter(known))
    return Scored(
        System(system.name, system.role, first, tuple(known) if first else (), system.about, system.caution),
        np.clip(ERRORS[task](judged), 0.0, None),
        known,
        means=means,
        sets=sets,
        answers=np.array([found.texts[place] for place in judged.best], dtype=object) if found.texts else None,
        texts=passages(found),
        length=judged.length,
    )


def uncertainty(found: Outputs) -> dict[str, Vector]:
    """The uncertainty of outputs by measure [N]: the file's own, that of log-probabilities, and how far several texts
    of a record agree; without constants, and without measures that repeat an earlier one."""
    made = dict[str, Vector]()
    if (ensemble := found.hypotheses()) is not None:
        made = _of_samples(found) if found.sampled else _of_hypotheses(ensemble)
        made = {name: made[name] for name in dict.fromkeys((_headline(found), *made)) if _of_several(name, found)}
    elif (scores := found.mean_log_likelihoods()) is not None and not found.sampled:
        starts = ragged.offsets(found.counts)[:-1]
        made = {_headline(found): np.add.reduceat(-scores, starts) / found.counts}
    several = found if found.samples is None else found.samples
    if several.texts and several.counts.max() > 1:
        texts = Texts(np.array(several.texts, dtype=object), several.counts, several.weights())
        made |= {name: measures.uncertainty(texts, name) for name in measures.measures_for(texts)}
    known = dict(found.uncertainties)
    for name, values in made.items():
        if name not in known and telling(values) and not any(_same(values, own) for own in known.values()):
            known[name] = values
    return known


def _headline(found: Outputs) -> str:
    """The published measure; of single texts, where it is the same, by the name of what it is the mean of."""
    return "beam_score" if found.counts.max(initial=0) > 1 else "score_pe"


def _of_several(name: str, found: Outputs) -> bool:
    return name != "beam_score" or _headline(found) == name


def _same(values: Vector, others: Vector) -> bool:
    """Whether two measures differ by rounding alone."""
    return bool(np.allclose(values, others, rtol=1e-9, atol=1e-12))


def telling(values: Vector) -> bool:
    """Whether a measure [N] differs between any records."""
    return bool(len(values) == 1 or values.min() < values.max())


def among(systems: Sequence[Judged]) -> list[Vector]:
    """How far the answer of each system is from those of all, itself included, 0 to 1 [N] each: 1 minus their GLEU."""
    texts = Texts(np.array([[each.found.texts[place] for place in each.best] for each in systems], dtype=object))
    return [np.round(1.0 - row, DIGITS) for row in expected_agreement(texts)]


def _of_hypotheses(ensemble: Hypotheses) -> dict[str, Vector]:
    """The measures of hypotheses [N], the published one (NLL averaged over the beam) first."""
    names = dict.fromkeys(("beam_score", *measures.measures_for(ensemble)))
    return {name: measures.uncertainty(ensemble, name) for name in names}


def _of_samples(found: Outputs) -> dict[str, Vector]:
    """The same of samples, which weigh the same: plain means over those of a record."""
    assert found.log_probabilities is not None
    assert found.lengths is not None
    each = _of_hypotheses(Hypotheses(found.log_probabilities, found.lengths, np.ones(len(found.texts), np.int64)))
    starts = ragged.offsets(found.counts)[:-1]
    return {name: np.add.reduceat(values, starts) / found.counts for name, values in each.items()}
