"""Files that are not pages: of boards, reports, receipts, and what proves that the log only grew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import FileResponse, JSONResponse, Response

from shiftbench.challenge.web import seen
from shiftbench.challenge.web.pages import Who
from shiftbench.challenge.web.views.boards import entries
from shiftbench.challenge.web.visit import Visit, whole

# A report is one file with its own style and script, kept apart from this server's cookies by the sandbox.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Download:
    """A file to send: GET."""

    path: str
    send: Callable[[Visit], Response]
    who: Who = "anyone"


def _file(path: Path) -> Response:
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _public(visit: Visit) -> Response:
    return _file(visit.server.public_file(visit.path["board"], visit.path["name"]))


def _labels(visit: Visit) -> Response:
    return _file(visit.server.label_file(visit.path["board"], visit.path["phase"], visit.path["name"]))


def page_of(path: Path) -> FileResponse:
    """A report as a page of its own."""
    headers = {"Content-Security-Policy": REPORT_POLICY, "Cache-Control": "no-store"}
    return FileResponse(path, media_type="text/html", headers=headers)


def _submission_report(visit: Visit) -> Response:
    return page_of(seen.report_page(visit.server, visit.user, visit.number()))


def _comparison_report(visit: Visit) -> Response:
    phase, wanted = visit.query.get("phase"), entries(visit.chosen)
    return page_of(seen.comparison_page(visit.server, visit.path["board"], phase, wanted))


def _json(name: str, value: object) -> Response:
    return JSONResponse(value, headers={"Content-Disposition": f'attachment; filename="{name}.json"'})


def _receipt(visit: Visit) -> Response:
    number = visit.number()
    return _json(f"receipt-{number}", seen.receipt(visit.server, visit.account, number))


def _checkpoint(visit: Visit) -> Response:
    return _json("checkpoint", visit.server.proofs.checkpoint(visit.server.clock()))


def _growth(visit: Visit) -> Response:
    return _json("growth", visit.server.proofs.growth(whole(visit.query.get("first", ""))))


DOWNLOADS = (
    Download("/boards/{board}/files/{name:path}", _public),
    Download("/boards/{board}/labels/{phase}/{name:path}", _labels),
    Download("/boards/{board}/compared", _comparison_report),
    Download("/submissions/{number}/report", _submission_report),
    Download("/submissions/{number}/receipt", _receipt, "user"),
    Download("/checkpoint", _checkpoint),
    Download("/growth", _growth),
)
