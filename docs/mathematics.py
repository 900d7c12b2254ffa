"""A hook of the documentation site: `$…$` and `$$…$$` become MathML, which browsers show without any script.

The formulas are kept out of Markdown's way as numbered marks and put back into the finished page.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

# Code comes first, so that a dollar sign inside it is left alone.
PIECES = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]+`)"
    r"|\$\$(?P<block>.+?)\$\$"
    r"|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$])?)\$(?![\w$])",
    re.MULTILINE | re.DOTALL,
)
MARK = "\u27e6formula {}\u27e7"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Replace the formulas of a page by marks."""
    page.formulas = []

    def mark(piece: re.Match[str]) -> str:
        if piece["code"]:
            return piece[0]
        display = "block" if piece["block"] else "inline"
        page.formulas.append(convert(piece["block"] or piece["inline"], display=display))
        return MARK.format(len(page.formulas) - 1)

    return PIECES.sub(mark, markdown)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Put the formulas, now MathML, where their marks stand."""
    for number, formula in enumerate(page.formulas):
        html = html.replace(MARK.format(number), formula)
    return html
