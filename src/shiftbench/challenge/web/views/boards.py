"""Pages of the challenge itself: boards, final results, comparisons, and what is defended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from shiftbench.challenge import conclusion
from shiftbench.challenge.definition import Board, Phase
from shiftbench.challenge.store.records import Refused
from shiftbench.challenge.web import figure, numbers, seen, threats
from shiftbench.challenge.web.figure import Drawn
from shiftbench.challenge.web.security import CHUNK
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.visit import Next, Visit, whole
from shiftbench.report.digits import p_text
from shiftbench.scores.score import Score


def nothing(visit: Visit) -> Mapping[str, Any]:
    """A page without values of its own."""
    return {}


def home(visit: Visit) -> Mapping[str, Any]:
    """The boards and their phases, and what was announced."""
    server = visit.server
    boards = [seen.board(server, each) for each in server.challenge.boards]
    leads = {each.slug: _lead(server, each) for each in server.challenge.boards}
    return {"boards": boards, "leads": leads, "announcements": server.ledger.announcements()}


def _lead(server: Server, chosen: Board) -> Mapping[str, Any]:
    """The best teams of the phase of now, and the best reference, as they stand on the board."""
    during, metric = server.phase(chosen.slug, None)[1], server.metric(chosen)
    final = seen.final(server, chosen, during)
    rows: Sequence[Drawn] = final.rows if final else server.rows(chosen, during)
    teams = [row for row in rows if not row.reference]
    best = [*teams[:3], *[row for row in rows if row.reference][:1]]
    shown = [row for row in rows if any(row is each for each in best)]
    return {
        "phase": during.name, "rows": shown, "teams": len(teams), "numbers": numbers.of(metric, rows),
        "strips": figure.strips(metric, shown),
    }  # fmt: skip


def _place(visit: Visit) -> tuple[Board, Phase]:
    return visit.server.phase(visit.path["board"], visit.query.get("phase"))


def board(visit: Visit) -> Mapping[str, Any]:
    """A leaderboard, the files of the board and how to submit."""
    server = visit.server
    chosen, during = _place(visit)
    team = visit.user.team_name if visit.user else None
    standing = seen.standing(server, chosen, during)
    sides = _sides(server, chosen, standing)
    used = {"labels": {row.labels for row in standing.rows}, "scorer": {row.scorer for row in standing.rows}}
    values = {
        "board": seen.board(server, chosen), "metric": server.metric(chosen), "standing": standing,
        "phase": standing.phase, "team": team, "numbers": numbers.of(server.metric(chosen), standing.rows),
        "files": server.public_names(chosen.slug), "labels": server.labels(chosen.slug, during.name), "chunk": CHUNK,
        "strips": figure.strips(server.metric(chosen), standing.rows),
        "sides": Markup(figure.sides(server.metric(chosen), sides)),
        "undrawn": sum(not each for each in sides.values()),
        "used": {name: sorted(found) for name, found in used.items()}, "quota": None, "form": None,
        "differing": [name for name, found in used.items() if len(found) > 1],
        "sealed_labels": conclusion.sealed(server.folder, chosen, during),
    }  # fmt: skip
    if visit.user is not None and visit.user.team is not None and standing.phase.state == "open":
        values |= {"quota": server.ledger.quota(chosen.slug, during, visit.user.team), "form": _form(chosen)}
    return values


def _sides(server: Server, chosen: Board, standing: seen.Standing) -> Mapping[str, Mapping[str, Score]]:
    """In-domain and shifted scores of the first rows that have a report; of hidden phases none."""
    rows = [] if standing.phase.hidden else standing.rows[: figure.MOST]
    return {row.team: server.results.sides(row.submission, chosen.metric) for row in rows}


def _form(chosen: Board) -> Mapping[str, Any]:
    """What may be handed in."""
    from shiftbench.challenge import forms

    intake = forms.of(chosen).intake
    return {"about": intake.about, "suffixes": ",".join(intake.suffixes)}


def results(visit: Visit) -> Mapping[str, Any]:
    """The final ranking of a phase."""
    server = visit.server
    chosen, during = _place(visit)
    final = seen.ranking(server, chosen, during)
    phase, metric = seen.phase(server, chosen, during), server.metric(chosen)
    pairs = {pair: each for each in final.comparisons for pair in ((each.a, each.b), (each.b, each.a))}
    return {
        "board": seen.board(server, chosen), "phase": phase, "metric": metric, "final": final,
        "numbers": numbers.of(metric, final.rows), "pairs": pairs, "p_text": p_text,
        "strips": figure.strips(metric, final.rows), "team": visit.user.team_name if visit.user else None,
        "disqualified": server.ledger.disqualified(), "labels": server.labels(chosen.slug, during.name),
    }  # fmt: skip


def compare(visit: Visit) -> Mapping[str, Any]:
    """Submissions beside each other."""
    server, wanted = visit.server, entries(visit.chosen)
    chosen, during = _place(visit)
    found = seen.comparison(server, chosen.slug, during.name, wanted)
    metric = server.metric(chosen)
    return {
        "board": seen.board(server, chosen), "phase": seen.phase(server, chosen, during), "comparison": found,
        "metric": metric, "numbers": numbers.of(metric, found.entries), "wanted": wanted,
        "strips": figure.strips(metric, found.entries, whole=True),
    }  # fmt: skip


def entries(texts: object) -> list[int]:
    """The numbers of submissions in an address, each once."""
    found = sorted({whole(str(each)) for each in texts}) if isinstance(texts, list | tuple) else []
    if not 1 <= len(found) <= 6:
        raise Refused(f"expected 2 to 6 submissions to compare, found {len(found)}. Tick them on the board.")
    return found


def begin_comparison(visit: Visit) -> Next:
    """Make a report of several submissions."""
    wanted = entries(visit.form.get("entries", "").split(","))
    chosen, during = visit.server.phase(visit.path["board"], visit.form.get("phase"))
    seen.begin_comparison(visit.server, chosen, during, wanted)
    query = "&".join(f"entry={number}" for number in wanted)
    return Next(f"/boards/{chosen.slug}/compare?phase={during.name}&{query}")


def threat(visit: Visit) -> Mapping[str, Any]:
    """What is defended on this machine, and what is not."""
    return {"layers": threats.layers()}
