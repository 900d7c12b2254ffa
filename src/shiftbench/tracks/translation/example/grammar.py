"""Sentences of two languages: one analytic (particles, fixed order), one inflected (cases, genders, free order).

A sentence is made of meanings, from which the source follows by rule; the target has several valid forms: synonyms,
each with a gender of its own, dropped pronouns, and orders that the cases tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.tracks.translation.example.lexicon import (
    AND,
    FUNCTION,
    FUTURE,
    NOT,
    OF,
    PAST,
    WHETHER,
    WHO,
    WORDS,
    Draw,
    Word,
)
from shiftbench.tracks.translation.example.registers import Register

SUBJECT, OBJECT, OBLIQUE = range(3)  # cases
NOUN = (  # gender → singular, plural → ending of each case
    (("", "u", "em"), ("i", "ov", "am")),
    (("a", "o", "oj"), ("y", "as", "ami")),
    (("o", "on", "im"), ("ā", "āt", "āh")),
)
ADJECTIVE = (
    (("is", "iga", "imu"), ("ie", "ih", "im")),
    (("aja", "uju", "ej"), ("yje", "yh", "ym")),
    (("oje", "ojo", "ome"), ("aje", "ājt", "ājm")),
)
TENSE = ("", "il", "us")  # present, past, future
PERSON = (("am", "esh", "e"), ("omo", "ote", "on"))  # singular, plural → 1st, 2nd, 3rd
PRONOUN = ((("jaz", "tis", "onek"), ("mij", "vij", "onij")), (("men", "teb", "negu"), ("nas", "vas", "nih")))
PREPOSITIONS = ("pri", "pod", "so", "bez")
POLITE, KIN, NEGATION, QUESTION, CONJUNCTION = "vij", "kter", "ne", "li", "i"
DROPPED, OBJECT_FIRST, TIME_LAST, OF_TOPIC = 0.5, 0.3, 0.3, 0.5
TOPICS = 10


@dataclass(frozen=True)
class Phrase:
    """What a noun phrase means. head is None for pronouns, whose person is 0, 1 or 2; the others are of person 2."""

    head: Word | None
    person: int = 2
    plural: bool = False
    definite: bool = True
    adjective: Word | None = None
    owner: Phrase | None = None
    relative: tuple[Word, Phrase] | None = None


@dataclass(frozen=True)
class Clause:
    """What a clause means. tense: present, past, future; mood: its mark, one of . ? !; place: preposition, phrase."""

    subject: Phrase
    verb: Word
    object: Phrase
    tense: int
    negated: bool
    mood: str = "."
    time: Word | None = None
    place: tuple[int, Phrase] | None = None


# --- meanings --------------------------------------------------------------------------------------------------------


def sentence(register: Register, topic: int, draw: Draw) -> list[Clause]:
    """One or two clauses of a register, whose nouns are often of a topic."""
    mood = "?" if draw.chance(register.question) else "!" if draw.chance(register.command) else "."
    clauses = [_clause(register, topic, mood, draw)]
    if mood == "." and draw.chance(register.second):
        clauses.append(_clause(register, topic, mood, draw))
    return clauses


def _clause(register: Register, topic: int, mood: str, draw: Draw) -> Clause:
    command = mood == "!"
    subject = Phrase(None, 1, draw.chance(0.3)) if command else _subject(register, topic, draw)
    return Clause(
        subject,
        draw.pick(WORDS["verbs"]),
        _phrase(register, topic, draw),
        0 if command else draw.pick((0, 1, 1, 2)),
        draw.chance(0.15),
        mood,
        draw.pick(WORDS["times"]) if draw.chance(register.time) else None,
        (draw.pick(range(len(PREPOSITIONS))), _phrase(register, topic, draw)) if draw.chance(register.place) else None,
    )


def _subject(register: Register, topic: int, draw: Draw) -> Phrase:
    if draw.chance(register.pronoun):
        return Phrase(None, draw.pick((0, 1, 2)), draw.chance(0.4))
    if draw.chance(0.2):
        return Phrase(draw.pick(WORDS["names"]))
    phrase = _phrase(register, topic, draw)
    if not draw.chance(register.relative):
        return phrase
    relative = (draw.pick(WORDS["verbs"]), Phrase(_noun(topic, draw), plural=draw.chance(0.3)))
    return Phrase(phrase.head, 2, phrase.plural, phrase.definite, phrase.adjective, None, relative)


def _phrase(register: Register, topic: int, draw: Draw) -> Phrase:
    adjective = draw.pick(WORDS["adjectives"]) if draw.chance(register.adjective) else None
    owner = Phrase(draw.pick(WORDS["names"])) if draw.chance(register.owner) else None
    return Phrase(_noun(topic, draw), 2, draw.chance(0.35), draw.chance(0.6), adjective, owner)


def _noun(topic: int, draw: Draw) -> Word:
    nouns = WORDS["nouns"]
    return draw.pick(nouns[topic % TOPICS :: TOPICS] if draw.chance(OF_TOPIC) else nouns)


# --- source ----------------------------------------------------------------------------------------------------------


def source(clauses: list[Clause]) -> str:
    """The source sentence."""
    return _joined([_source_clause(clause) for clause in clauses], AND, clauses[0].mood)


def _source_clause(clause: Clause) -> list[str]:
    verb = [("", PAST, FUTURE)[clause.tense], NOT if clause.negated else "", clause.verb.source]
    place = clause.place
    return [
        WHETHER if clause.mood == "?" else "",
        clause.time.source if clause.time else "",
        *([] if clause.mood == "!" else _source_phrase(clause.subject)),
        *verb,
        *_source_phrase(clause.object),
        *([FUNCTION["preposition"][place[0]], *_source_phrase(place[1])] if place else []),
    ]


def _source_phrase(phrase: Phrase) -> list[str]:
    if phrase.head is None:
        return [FUNCTION["pronoun"][phrase.person + 3 * phrase.plural]]
    if phrase.head in WORDS["names"]:
        return [phrase.head.source]
    return [
        FUNCTION["determiner"][not phrase.definite],
        phrase.adjective.source if phrase.adjective else "",
        phrase.head.source + ("in" if phrase.plural else ""),
        *([OF, *_source_phrase(phrase.owner)] if phrase.owner else []),
        *([WHO, phrase.relative[0].source, *_source_phrase(phrase.relative[1])] if phrase.relative else []),
    ]


# --- target ----------------------------------------------------------------------------------------------------------


def target(clauses: list[Clause], polite: bool, draw: Draw) -> str:
    """One of the valid translations."""
    return _joined([_target_clause(clause, polite, draw) for clause in clauses], CONJUNCTION, clauses[0].mood)


def _target_clause(clause: Clause, polite: bool, draw: Draw) -> list[str]:
    subject, whole = clause.subject, clause.subject.head is not None
    formal = polite and not whole and subject.person == 1
    plural = subject.plural or formal
    ending = TENSE[clause.tense] + PERSON[plural][subject.person]
    stem = draw.pick(clause.verb.stems)
    verb = [*([NEGATION] if clause.negated else []), stem + ("i" if clause.mood == "!" else ending)]
    if clause.mood == "!" and plural:
        verb[-1] += "te"
    dropped = clause.mood == "!" or (not whole and draw.chance(DROPPED))
    own = [] if dropped else [POLITE] if formal else _target_phrase(subject, SUBJECT, draw)
    other = _target_phrase(clause.object, OBJECT, draw)
    core = [*other, *verb, *own] if whole and draw.chance(OBJECT_FIRST) else [*own, *verb, *other]
    if clause.mood == "?":
        core = [*verb, QUESTION, *own, *other]
    if clause.place:
        core += [PREPOSITIONS[clause.place[0]], *_target_phrase(clause.place[1], OBLIQUE, draw)]
    time = [draw.pick(clause.time.stems) + "no"] if clause.time else []
    return [*core, *time] if draw.chance(TIME_LAST) else [*time, *core]


def _target_phrase(phrase: Phrase, case: int, draw: Draw) -> list[str]:
    head = phrase.head
    if head is None:
        return [PRONOUN[case != SUBJECT][phrase.plural][phrase.person]]
    at = draw.pick(range(len(head.stems)))
    gender = head.genders[at]
    found = [head.stems[at] + NOUN[gender][phrase.plural][case]]
    if phrase.adjective:
        found.insert(0, draw.pick(phrase.adjective.stems) + ADJECTIVE[gender][phrase.plural][case])
    if phrase.owner:
        found += _target_phrase(phrase.owner, OBLIQUE, draw)
    if phrase.relative:
        verb, other = phrase.relative
        who = KIN + ADJECTIVE[gender][phrase.plural][SUBJECT]
        found[-1] += ","
        found += [who, draw.pick(verb.stems) + PERSON[phrase.plural][2], *_target_phrase(other, OBJECT, draw)]
        found[-1] += ","
    return found


def _joined(clauses: list[list[str]], conjunction: str, mark: str) -> str:
    parts = [" ".join(filter(None, words)) for words in clauses]
    text = f", {conjunction} ".join(part.rstrip(",") for part in parts).replace(",,", ",")
    return text[0].upper() + text[1:] + mark
