"""The seven anomalies of the paper, put into made-up sentences: each function changes a source sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from shiftbench.tracks.translation.example.lexicon import FUNCTION, WORDS, Draw
from shiftbench.tracks.translation.example.registers import RATES

MARKS = ".,?!"
EMOJI = ("😀", "😂", "🙃", "👍", "🔥", "😭")
USERS = ("r/dorvan", "u/kelmi_7", "r/askzun", "`sutal()`", "u/palo-no")
ABBREVIATIONS = ("tbk", "vnm", "zls", "krr")  # of nothing: openings and ends that a translation leaves out
SLANG = {word.source: word.slang for words in WORDS.values() for word in words if word.slang}
KIND = {word: words for words in FUNCTION.values() for word in words}
SHORTEST = 4  # letters of a word that is misspelled


@dataclass
class Text:
    """The words of a source sentence, and signs that stand at the end of its translation, too."""

    words: list[str]
    kept: list[str] = field(default_factory=list)


def punctuation(text: Text, draw: Draw) -> None:
    """Remove all marks, repeat the last one, or set a word in wiki markup."""
    act = draw.pick(("remove", "repeat", "markup"))
    if act == "remove":
        text.words = [word.strip(MARKS) for word in text.words]
    elif act == "repeat":
        text.words[-1] += 2 * text.words[-1][-1] if text.words[-1][-1] in MARKS else "..."
    else:
        at = draw.pick(range(len(text.words)))
        text.words[at] = f"**{text.words[at]}**"


def spelling(text: Text, draw: Draw) -> None:
    """Drop or double a letter, hyphenate a word, or join it to the next."""
    long = [at for at, word in enumerate(text.words) if len(word.strip(MARKS)) >= SHORTEST] or [0]
    at, act = draw.pick(long), draw.pick(("drop", "double", "hyphen", "join"))
    word, middle = text.words[at], 1 + draw.pick((0, 1))
    if act == "join" and at + 1 < len(text.words):
        text.words[at : at + 2] = [word + text.words[at + 1]]
    else:
        between = {"double": 2 * word[middle], "hyphen": f"-{word[middle]}"}.get(act, "")
        text.words[at] = word[:middle] + between + word[middle + 1 :]


def capitalization(text: Text, draw: Draw) -> None:
    """Write all in lower case, all in upper case, or one word in upper case."""
    act = draw.pick(("lower", "lower", "upper", "word"))
    if act == "word":
        at = draw.pick(range(len(text.words)))
        text.words[at] = text.words[at].upper()
    else:
        text.words = [word.lower() if act == "lower" else word.upper() for word in text.words]


def fluency(text: Text, draw: Draw) -> None:
    """Drop a pronoun, preposition, determiner or particle, or take a wrong one; without any, repeat a word."""
    own = [at for at, word in enumerate(text.words) if word.lower() in KIND]
    if not own:
        text.words.insert(1, text.words[0].lower().strip(MARKS))
        return
    at = draw.pick(own)
    others = [word for word in KIND[text.words[at].lower()] if word != text.words[at].lower()]
    text.words[at : at + 1] = [] if draw.chance(0.5) else [draw.pick(others)]


def slang(text: Text, draw: Draw) -> None:
    """Replace a word by its slang form, or add an abbreviation."""
    known = [at for at, word in enumerate(text.words) if word.strip(MARKS).lower() in SLANG]
    if known:
        at = draw.pick(known)
        bare = text.words[at].strip(MARKS)
        text.words[at] = text.words[at].replace(bare, SLANG[bare.lower()])
    else:
        text.words.insert(draw.pick((0, len(text.words) - 1)), draw.pick(ABBREVIATIONS))


def emoji(text: Text, draw: Draw) -> None:
    """Put an emoji at the end, where a translation keeps it, or in place of a word."""
    sign = draw.pick(EMOJI)
    if draw.chance(0.7):
        text.words.append(sign)
        text.kept.append(sign)
    else:
        text.words[draw.pick(range(len(text.words)))] = sign


def tags(text: Text, draw: Draw) -> None:
    """Name a user, a group or code at the end, where a translation keeps it."""
    name = draw.pick(USERS)
    text.words.append(name)
    text.kept.append(name)


ACTS: dict[str, Callable[[Text, Draw], None]] = {
    "fluency": fluency, "slang": slang, "spelling": spelling, "capitalization": capitalization,
    "punctuation": punctuation, "emoji": emoji, "tags": tags,
}  # fmt: skip
"""Anomaly → its function, in the order in which they are applied."""


def with_anomalies(sentence: str, domain: str, draw: Draw) -> tuple[Text, dict[str, bool]]:
    """A sentence with the anomalies that chance gives it at the rates of its domain, and which those are."""
    flags = {name: draw.chance(rates[domain]) for name, rates in RATES.items()}
    text = Text(sentence.split())
    for name, act in ACTS.items():
        if flags[name]:
            act(text, draw)
    return text, flags
