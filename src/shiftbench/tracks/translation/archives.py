"""The official archives of the translation data: where they were, and on what terms each part may be used.

Their publishers give neither sizes to the byte nor hashes, so both are recorded on first use.
"""

from __future__ import annotations

from shiftbench.io.fetch import Archive, Licence, share_alike

BASE = "https://storage.yandexcloud.net/yandex-research/shifts/translation/"
FREE = share_alike("Malinin et al., Shifts, 2021")
WMT = Licence(
    "the terms of the corpora of WMT 2020",
    "https://www.statmt.org/wmt20/translation-task.html",
    "use them for research, cite who made each of them, and keep to its own terms: some (such as the 1M corpus) "
    "exclude commercial use, and others (such as WikiMatrix) ask you to share alike.",
)
_NO_ATTEMPT = (
    "make no attempt to identify the users who wrote the sentences, nor to find their posts; remove what Reddit or its "
    "users have removed; keep to Reddit's terms and train no model for sale on them"
)
REDDIT = "https://redditinc.com/policies/data-api-terms"
DEV = Licence(
    "the terms of WMT 2019 and of Reddit",
    REDDIT,
    f"use newstest2019 and MTNT for research and cite who made them; {_NO_ATTEMPT}.",
)
EVAL = Licence(
    f"{FREE.name} and the terms of Reddit", REDDIT, f"{_NO_ATTEMPT}; and as {FREE.name} ({FREE.url}) says: {FREE.asks}"
)


def _archive(file: str, licence: Licence, about: str) -> Archive:
    name = file.removesuffix("-data.tar").removesuffix(".tar")
    then = "shiftbench prepare translation {folder}" if file.endswith("-data.tar") else None
    return Archive(name, BASE + file, file, licence, about, then=then, unpacked=then is not None)


ARCHIVES: tuple[Archive, ...] = (
    _archive("eval-data.tar", EVAL, "eval_in (GlobalVoices) and eval_out (Reddit with anomaly flags)"),
    _archive("dev-data.tar", DEV, "dev_in (newstest2019) and dev_out (Reddit, from MTNT)"),
    _archive(
        "train-data.tar", WMT, "the corpora of WMT 2020 for train, many gigabytes; `dev` and `eval` have the rest"
    ),
    _archive("baseline-models.tar", FREE, "the paper's three Transformers, as fairseq stores them"),
)
"""What can be fetched, the usual choice first."""
