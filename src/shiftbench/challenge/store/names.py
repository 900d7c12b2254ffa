"""Names that people see: of teams and of accounts, so that none is empty, hidden or taken for another."""

from __future__ import annotations

import re
import unicodedata

from shiftbench.challenge.store.records import Refused

MOST_NAME, MOST_EMAIL = 60, 254
_UNSEEN = re.compile(  # letters, marks and symbols that nobody sees, beside those of category Cf
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_REFUSED = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}  # control, format (zero width, bidi), unassigned, private, …
_MARKS = 4  # in a row, more than any writing needs
# Letters of other writings that look like Latin ones in one case or the other, and digits that look like letters.
_ALIKE = str.maketrans(
    "авекмнорстухіјѕһԁԛԝӏαβεζηικμνορτυχϲϳ01|",
    "abekmhopctyxijshdqwlabezhikmnoptyxcjoll",
)
# Small letters that look like Latin ones, other than those of their capitals; and rare capitals.
_SHAPES = str.maketrans("νηυγωσьүҮѵѴԌԍ", "vnuywobyYvVGg")


def plain(text: str) -> str:
    """Compatible characters as one (NFKC), and one space for white space of any kind and length."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def alike(one: str, other: str) -> bool:
    """Whether names differ by case, width, white space, encoding or letters that look alike, or not at all."""
    return any(a == b for a, b in zip(_keys(one), _keys(other), strict=True))


def _keys(name: str) -> list[str]:
    """What names that look alike share: read as it is, with each capital I as a small L, and by the small letters."""
    read = (plain(name), plain(name).replace("I", "l"), plain(name).translate(_SHAPES))
    folded = ("".join(unicodedata.normalize("NFKC", each.casefold()).split()) for each in read)
    return [each.translate(_ALIKE) for each in folded]


def team(text: str) -> str:
    """The name of a team as it is kept.

    Raises:
        Refused: if it is empty or too long, or has characters that nobody sees.
    """
    kinds = [unicodedata.category(each) for each in text]
    found, hidden = plain(text), _REFUSED.intersection(kinds) or _UNSEEN.search(text)
    many = re.search(f"M{{{_MARKS + 1}}}", "".join(kind[0] for kind in kinds))
    seen = any(unicodedata.category(each)[0] in "LNS" for each in found)
    if hidden or many or not seen or len(found) > MOST_NAME:
        raise Refused(
            f"expected a name of 1 to {MOST_NAME} characters on one line, with a letter, digit or symbol, and nothing "
            f"invisible (no control, zero-width or direction characters), found {text[: MOST_NAME + 1]!a}. Correct it.",
            status=422,
        )
    return found


def email(text: str) -> str:
    """An address as it is kept: however its case or width is written, it is of one account.

    Raises:
        Refused: if it is not an e-mail address.
    """
    found = unicodedata.normalize("NFKC", text.strip()).casefold()
    before, at, after = found.rpartition("@")
    well = before and at and "." in after.strip(".") and found.isprintable() and not re.search(r"\s", found)
    if not well or len(found) > MOST_EMAIL or _UNSEEN.search(text):
        raise Refused("expected an e-mail address, found another text. Correct it.", status=422)
    return found
