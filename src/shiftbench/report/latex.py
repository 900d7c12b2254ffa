"""Any text as LaTeX that compiles with pdfLaTeX and shows the same characters."""

from __future__ import annotations

import unicodedata

from shiftbench.report.view import clean

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # At the start of a row a bracket or a star would be read as an argument of the line end before it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "°": r"\textdegree{}",
    "µ": r"\textmu{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": r"$-$",
    "–": r"--",
    "—": r"---",
    "…": r"\ldots{}",
    "†": r"\dag{}",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "€": r"\texteuro{}",
    "ß": r"\ss{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "å": r"\aa{}",
    "Å": r"\AA{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
}
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-", strict=True))
_GREEK_NAMES = (
    "alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
    "xi", "pi", "rho", "sigma", "tau", "upsilon", "varphi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega",
)  # fmt: skip
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", _GREEK_NAMES, strict=True))
# Combining accents, by the command that sets them.
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030b": "H", "\u030c": "v", "\u0327": "c", "\u0328": "k",
}  # fmt: skip


def escaped(text: str) -> str:
    """Text for LaTeX. A character that pdfLaTeX has no sign for is written as its code point, such as U+6A21."""
    return "".join(map(_sign, clean(text)))


def _sign(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isascii():
        return char
    if char in _GREEK:
        return rf"$\{_GREEK[char]}$"
    if char in _SUPERSCRIPTS or char in _SUBSCRIPTS:
        raised = char in _SUPERSCRIPTS
        return rf"${'^' if raised else '_'}{{{(_SUPERSCRIPTS if raised else _SUBSCRIPTS)[char]}}}$"
    parts = unicodedata.normalize("NFD", char)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        return rf"\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return f"U+{ord(char):04X}"
