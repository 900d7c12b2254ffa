"""Reports of a server tell of single records once labels are released, and not a moment before, to nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.challenge.web import results
from tests import small_presets

from .hosted import HIDDEN, Hosted


@pytest.fixture
def hosted(hosted_once: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosted:
    """Reports are built in this process, from few replicates: of whom they tell is the same."""
    monkeypatch.setattr(results, "_child", lambda call, *arguments: call(*arguments))
    small_presets.few_replicates(monkeypatch)
    small_presets.blank_pictures(monkeypatch)
    return hosted_once.copied(tmp_path)


def read(hosted: Hosted) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Answers with status 200 by role and address; where any of them tells of a record."""
    answers = {
        (role, path): answer.text
        for role, visitor in hosted.roles.items()
        for path in hosted.addresses()
        if (answer := visitor.client.get(path)).status_code == 200
    }
    return answers, sorted({f"{role} {path}" for (role, path), text in answers.items() if hosted.told(text)})


def written(hosted: Hosted) -> dict[str, str]:
    """Every file of stored reports."""
    return {
        path.relative_to(hosted.state).as_posix(): path.read_text("utf-8", errors="ignore")
        for part in ("scored", "compared")
        for path in (hosted.state / part).rglob("*")
        if path.is_file()
    }


def test_reports_tell_nothing_of_a_record_until_labels_are_released(hosted: Hosted) -> None:
    hosted.worker.reports()
    hosted.compare("development")
    hosted.conclude()
    hosted.compare("evaluation")
    answers, telling = read(hosted)
    reports = {
        path for (who, path), text in answers.items()
        if who == "visitor" and "<svg" in text and ("compared" in path or "compare/report" in path)
    }  # fmt: skip
    number = hosted.numbers["development"][0]
    assert {f"/submissions/{number}/report", f"/api/v1/submissions/{number}/report"} <= {path for _, path in answers}
    assert len(reports) == 4  # common reports of both phases, as pages and through the API
    assert telling == []
    files = written(hosted)
    assert len([path for path in files if path.endswith("report.json")]) == 4
    assert [path for path, text in files.items() if hosted.told(text) or "records.csv" in path] == []

    by = next(each for each in hosted.server.ledger.users() if each.role == "admin")
    hosted.server.ledger.release("main", replace(HIDDEN), by)
    assert (
        hosted.roles["visitor"].client.get(next(each for each in reports if "evaluation" in each)).status_code == 404
    )  # made anew, with records
    hosted.compare("evaluation")
    answers, telling = read(hosted)
    assert {path.split()[1].split("?")[0] for path in telling} == {
        "/boards/main/compared", "/api/v1/boards/main/evaluation/compare/report",
    }  # fmt: skip


def test_reports_of_earlier_versions_are_not_served(hosted: Hosted) -> None:
    (number, other), ledger = hosted.numbers["development"], hosted.server.ledger
    scores = [ledger.scores(each)[0].id for each in (number, other)]
    for old in (f"scored/{number}/{scores[0]}", f"compared/{number}.{scores[0]}-{other}.{scores[1]}"):
        (hosted.state / old).mkdir(parents=True)
        (hosted.state / old / "report.html").write_text(f"<p>{hosted.targets[0]}</p>")
    answers, telling = read(hosted)
    assert answers
    assert telling == []
    assert hosted.worker.reports(most=1) == 1  # made anew
    assert hosted.worker.reports() == 1
    assert read(hosted)[1] == []
