"""Final results after labels were corrected: wherever they are shown it says so, until the phase is concluded again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.challenge import manifest, receipts
from shiftbench.challenge.web import results

from .hosted import HIDDEN, Hosted

API = "/api/v1/boards/main/evaluation"
PAGES = ("/boards/main/results?phase=evaluation", "/boards/main?phase=evaluation")


@pytest.fixture(autouse=True)
def _rankings_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_child", lambda call, *arguments: call(*arguments))


@pytest.fixture(scope="module")
def concluded(hosted_once: Hosted, tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    made = hosted_once.copied(tmp_path_factory.mktemp("concluded"))
    entry = made.server.ledger.submission(made.numbers["evaluation"][0])
    file = (entry.name, entry.size)
    made.server.ledger.reference("main", HIDDEN, "Mean", file=file, sha256=entry.sha256)
    assert made.worker.step()
    made.conclude()  # the ranking of this one is made in a process of its own
    return made


@pytest.fixture
def hosted(concluded: Hosted, tmp_path: Path) -> Hosted:
    """A phase with two teams and a reference, concluded; rankings are made in this process."""
    return concluded.copied(tmp_path)


def labels(hosted: Hosted) -> str:
    return manifest.labels(hosted.server.folder, "main", "evaluation")


def corrected(hosted: Hosted, by: float) -> str:
    """Every second target was wrong; the version of the labels from now on."""
    path = hosted.server.folder / "sealed" / "main" / "evaluation" / "truth.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(target=frame["target"] + by * (np.arange(frame.height) % 2)).write_parquet(path)
    manifest.seal(hosted.server.folder)
    return labels(hosted)


def scored_again(hosted: Hosted) -> None:
    assert hosted.roles["admin"].post("/desk/phases/main/evaluation/rescore").status_code == 303
    while hosted.worker.step():
        pass


def told(hosted: Hosted) -> dict[str, Any]:
    return dict(hosted.roles["visitor"].client.get(f"{API}/results").json())


def compared(hosted: Hosted) -> str:
    return f"?phase=evaluation&{'&'.join(f'entry={number}' for number in hosted.numbers['evaluation'])}"


def buttons(hosted: Hosted) -> list[str]:
    """The buttons of the phase on the desk that catch the eye."""
    page = hosted.roles["admin"].client.get("/desk/phases").text
    card = page[page.index('href="/boards/main?phase=evaluation"') :]
    return re.findall(r'<button class="">([^<]+)</button>', card)


def test_final_results_of_earlier_labels_say_so_everywhere_until_they_are_concluded_again(hosted: Hosted):
    visitor, admin, first = hosted.roles["visitor"].client, hosted.roles["admin"], labels(hosted)
    before = told(hosted)
    assert (before["labels"], before["outdated"], buttons(hosted)) == ([first], [], [])
    assert f"with labels <code>{first[:12]}</code>" in visitor.get(PAGES[0]).text
    second = corrected(hosted, 2.0)
    expected = (
        f"The final results are of earlier labels ({first[:12]}). Corrected ones ({second[:12]}) have been in place"
    )
    for counts in ("none have been scored", "3 have been scored"):
        found = told(hosted)
        assert found["outdated"][0].startswith(expected)
        assert counts in found["outdated"][0]
        assert "until the organisers conclude the phase again" in found["outdated"][1]
        assert found["rows"] == before["rows"]
        assert visitor.get(API).json()["phase"]["outdated"] == found["outdated"]
        assert visitor.get(f"{API}/compare{compared(hosted)}").json()["outdated"] == found["outdated"]
        for page in (*PAGES, f"/boards/main/compare{compared(hosted)}"):
            assert expected in visitor.get(page).text, page
        assert "out of date" in visitor.get("/").text
        if counts.startswith("none"):
            assert buttons(hosted) == ["Score all again"]
            refused = admin.post("/desk/phases/main/evaluation/conclude")
            assert refused.status_code == 409
            assert "found older ones of 3 submissions (" in refused.text
            scored_again(hosted)
    assert buttons(hosted) == ["Conclude again"]
    hosted.conclude()
    after = told(hosted)
    assert (after["labels"], after["outdated"], buttons(hosted)) == ([second], [], [])
    assert not any(expected in visitor.get(page).text for page in PAGES)
    ledger = hosted.server.ledger
    for row, old in zip(after["rows"], before["rows"], strict=True):
        assert row["score"] == pytest.approx(ledger.scores(row["submission"])[0].value)
        assert row["score"] != pytest.approx(old["score"])


def test_lines_of_the_log_name_the_labels_of_their_final_scores_and_earlier_receipts_hold(hosted: Hosted):
    number, team = hosted.numbers["evaluation"][0], hosted.roles["team"].client
    first, early = labels(hosted), team.get(f"/submissions/{number}/receipt").json()
    second = corrected(hosted, 2.0)
    scored_again(hosted)
    hosted.conclude()
    late = team.get(f"/submissions/{number}/receipt").json()
    growth = team.get(f"/growth?first={early['size']}").json()
    assert receipts.verified([early, growth, late])
    entries = [json.loads(each["entry"]) for each in (early, late)]
    assert [(entry["labels"], entry["final"]) for entry in entries] == [(first, True), (second, True)]
    assert entries[0]["score"] != entries[1]["score"]
    finals = [entry for line in hosted.server.ledger.log() if (entry := json.loads(line)).get("final")]
    assert [entry["rank"] is None for entry in finals] == [entry["team"] == "Mean" for entry in finals]


def test_a_disqualified_team_is_named_while_it_is_still_among_final_results(hosted: Hosted):
    admin, visitor = hosted.roles["admin"], hosted.roles["visitor"].client
    ben = next(each for each in hosted.server.ledger.teams() if each.name == "ben")
    assert admin.post(f"/desk/teams/{ben.id}/disqualify", reason="Two accounts.").status_code == 303
    assert told(hosted)["outdated"][0] == "Still ranked, though disqualified since: ben."
    assert "Still ranked, though disqualified since: ben." in visitor.get(PAGES[0]).text
    assert buttons(hosted) == ["Conclude again"]
    hosted.conclude()
    assert {row["team"] for row in told(hosted)["rows"]} == {"eve", "Mean"}
    assert told(hosted)["outdated"] == []
    assert admin.post(f"/desk/teams/{ben.id}/reinstate").status_code == 303
    assert told(hosted)["outdated"][0].endswith("or scores were made obsolete (of ben).")


def test_labels_that_are_sealed_now_cannot_be_made_obsolete(hosted: Hosted):
    admin, first = hosted.roles["admin"], labels(hosted)
    path, body = "/desk/phases/main/evaluation/obsolete", {"reason": "Two stations were wrong."}
    assert "Make their scores obsolete" not in admin.client.get("/desk/phases").text
    refused = admin.post(path, labels=first, **body)
    assert (refused.status_code, "found those that are sealed now" in refused.text) == (409, True)
    second = corrected(hosted, 2.0)
    scored_again(hosted)
    page = admin.client.get("/desk/phases").text
    assert (f'<option value="{first}">' in page, f'<option value="{second}">' in page) == (True, False)
    assert admin.post(path, labels=second, **body).status_code == 409
    api = admin.client.post(f"/api/v1{path}", json={"labels": second, **body}, headers={"X-CSRF-Token": admin.csrf()})
    assert api.status_code == 404  # another path there
    assert admin.post(path, labels=first, **body).status_code == 303


def test_submissions_are_not_compared_by_labels_that_they_were_not_scored_with(hosted: Hosted):
    visitor = hosted.roles["other"]
    path = f"{API}/compare{compared(hosted).replace('phase=evaluation&', '')}"
    corrected(hosted, 2.0)
    refused = visitor.client.post(path, headers={"X-CSRF-Token": visitor.csrf()})
    assert (refused.status_code, "found scores of earlier labels" in refused.text) == (409, True)
    assert not (hosted.state / "compared").exists()
    scored_again(hosted)
    hosted.server.results._require_current(*hosted.server.phase("main", "evaluation"), hosted.numbers["evaluation"])


def test_a_board_tells_of_labels_that_were_corrected_before_all_are_scored_again(hosted: Hosted):
    visitor, words = hosted.roles["visitor"].client, "The labels have since been corrected"
    assert words not in visitor.get("/boards/main?phase=development").text
    path = hosted.server.folder / "sealed" / "main" / "development" / "truth.parquet"
    pl.read_parquet(path).with_columns(pl.col("target") + 1).write_parquet(path)
    manifest.seal(hosted.server.folder)
    hosted.clock.now += 60_000_000
    assert words in visitor.get("/boards/main?phase=development").text
    assert hosted.worker.reports() == 0  # they would be of the corrected labels, beside scores of the old ones


def test_results_that_an_earlier_version_stored_tell_their_labels_too(hosted: Hosted):
    ledger, admin = hosted.server.ledger, next(u for u in hosted.server.ledger.users() if u.role == "admin")
    ranking = dict(ledger.final("main", "evaluation").ranking)
    first = ranking.pop("labels")
    ranking.pop("scorer")
    for row in ranking["rows"]:
        row["rank"] = 1  # references had ranks
    ledger.conclude("main", HIDDEN, ranking, admin)
    found = told(hosted)
    assert (found["labels"], found["outdated"]) == ([first], [])
    assert [row["rank"] is None for row in found["rows"]] == [row["reference"] for row in found["rows"]]
    corrected(hosted, 2.0)
    assert told(hosted)["outdated"][0].startswith(f"The final results are of earlier labels ({first[:12]}).")
