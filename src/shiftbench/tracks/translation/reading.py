"""Texts of records as a reader sees them: source, hypotheses and references; tokens coloured by their probability."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftbench.assessment.scored import Texts
from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.scores.score import Text
from shiftbench.tracks.translation.outputs import Outputs

MOST_HYPOTHESES = 3
MOST_CHARACTERS = 900  # of a text that is shown
MOST_PIECES = 400
WORD, CONTINUES = "\N{LOWER ONE EIGHTH BLOCK}", "@@"  # SentencePiece's space, and subword-nmt's mark of an open word
ENDS = ("</s>", "<eos>", "<|endoftext|>")
CUT = "…"


def passages(found: Outputs) -> Texts | None:
    """Reads the texts of records by their positions; None if there are no texts at all."""
    if not found.texts and found.sources is None:
        return None
    weights = found.weights() if found.texts else np.zeros(0)
    return lambda places: [tuple(_record(found, weights, int(place))) for place in places]


def _record(found: Outputs, weights: Vector, row: int) -> Iterator[Text]:
    if found.sources is not None:
        yield plain("Source", found.sources[row])
    starts = ragged.offsets(found.counts)
    own = np.arange(starts[row], starts[row + 1])
    order = own[np.argsort(-weights[own], kind="stable")][:MOST_HYPOTHESES]
    for number, place in enumerate(order, 1):
        share = f" ({100 * weights[place]:.0f} %)" if len(own) > 1 else ""
        label = ("Sample" if found.sampled else "Hypothesis") + (f" {number}{share}" if len(own) > 1 else "")
        shown = hypothesis(label, found, int(place))
        if _letters("".join(shown.pieces)) != _letters(found.texts[place]) and CUT not in shown.pieces:
            yield plain(label, found.texts[place])
            shown = replace(shown, label=f"{label}, tokens")
        yield shown
    references = found.references[row] if found.references is not None else ()
    for number, text in enumerate(references[:MOST_HYPOTHESES], 1):
        yield plain("Reference" + (f" {number}" if len(references) > 1 else ""), text)


def _letters(text: str) -> str:
    """A text without white space and punctuation, which tokenisers move."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text)))


def plain(label: str, text: str) -> Text:
    """A text without colours, cut if it is long."""
    return Text(label, (text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + CUT,))


def hypothesis(label: str, found: Outputs, place: int) -> Text:
    """A hypothesis, its tokens shaded by 1 minus their mean probability under the members, where these are known."""
    text = found.texts[place]
    if found.log_probabilities is None or found.lengths is None:
        return plain(label, text)
    starts = ragged.offsets(found.lengths)
    own = slice(int(starts[place]), int(starts[place + 1]))
    shades = 1.0 - np.exp(found.log_probabilities[:, own]).mean(axis=0)
    words = pieces(found.tokens[own]) if found.tokens is not None else _words(text, len(shades))
    if not words:
        return plain(label, text)
    return _cut(label, words, shades[: len(words)])


def pieces(tokens: Sequence[str]) -> list[str]:
    """Tokens as parts of a text: the marks of SentencePiece and of BPE become spaces; the end of a text is left out."""
    kept = list(tokens)
    if kept and kept[-1] in ENDS:
        kept = kept[:-1]
    if any(WORD in token for token in kept):
        kept[0] = kept[0].removeprefix(WORD)
        return [token.replace(WORD, " ") for token in kept]
    written = [
        html.unescape(token).replace("@-@", "-") for token in kept
    ]  # as Moses writes brackets, quotes and hyphens
    return [token.removesuffix(CONTINUES) if token.endswith(CONTINUES) else f"{token} " for token in written]


def _words(text: str, tokens: int) -> list[str]:
    """The words of a text, if its tokens are these, and perhaps its end."""
    words = [f"{word} " for word in text.split()]
    return words if len(words) in (tokens, tokens - 1) else []


def _cut(label: str, words: Sequence[str], shades: Vector) -> Text:
    sizes = np.cumsum([len(word) for word in words])
    kept = min(int(np.searchsorted(sizes, MOST_CHARACTERS, side="right")), MOST_PIECES)
    if kept == len(words):
        return Text(label, tuple(words), tuple(np.round(shades, 3).tolist()))
    return Text(label, (*words[:kept], CUT), (*np.round(shades[:kept], 3).tolist(), float("nan")))
