"""Names of the translation data: the parts, the tasks, and the seven anomalies that its sentences are marked with."""

from __future__ import annotations

TRACK = "translation"
TASKS = ("egleu", "chrf", "exact_match", "given")
PARTS = ("train", "dev_in", "eval_in", "dev_out", "eval_out")
SHIFTED = ("dev_out", "eval_out")
ANOMALIES = {
    "punctuation": "missing or wrong punctuation marks, or formatting markup",
    "spelling": "misspelled or wrongly joined words, wrong hyphens",
    "capitalization": "upper or lower case against the rules",
    "fluency": "not fluent: wrong prepositions or pronouns, ungrammatical forms",
    "slang": "slang or abbreviations",
    "emoji": "emoji at the end of the sentence or in place of words",
    "tags": "markup of user names or code",
}
"""The flags of a sentence, of which several may hold (Shifts 1.0, Appendix D.1)."""
