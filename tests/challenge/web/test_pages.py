"""What pages and API show when, and what their forms do."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import shiftbench
from shiftbench import report as room
from shiftbench.challenge import manifest, receipts
from shiftbench.challenge.store.records import DAY, User
from shiftbench.challenge.web.application import STATIC, application
from shiftbench.challenge.web.pages import PAGES
from shiftbench.challenge.web.views.accounts import following

from ..conftest import PASSWORD, START, Visitor
from .world import HIDDEN, LABEL, OPEN, OVER, UNTOLD, World, score, sha256

API = "/api/v1"


def concluded(world: World) -> None:
    """The hidden phase has ended, and Ben's team had chosen a submission that the Ladder did not show."""
    world.server.ledger.choose(world.numbers["hidden"], world.user("ben"), HIDDEN)
    ledger, number = world.server.ledger, world.numbers["waiting"]
    ledger.stop(number, world.user("admin"))
    world.clock.now = START + 10 * DAY
    row = {"submission": world.numbers["hidden"], "rank": 1, "score": 0.8411, "low": 0.82945, "high": 0.85275}
    ranking = {"metric": "r_auc", "subset": "full", "level": 0.05, "rows": [{**row, "better_than": []}]}
    ledger.conclude("table", HIDDEN, {**ranking, "comparisons": []}, world.user("admin"))


def test_what_the_ladder_did_not_tell_is_shown_when_the_phase_is_concluded(own_world: World) -> None:
    visitor, number = own_world.roles["visitor"].client, own_world.numbers["hidden"]
    early = visitor.get(f"{API}/boards/table/evaluation/results")
    assert (early.status_code, early.json()["problems"]) == (409, [
        "expected a phase with a final ranking, found none of evaluation yet: it ends at 2023-11-23 22:13 UTC, and is "
        "ranked after that."
    ])  # fmt: skip
    own_world.clock.now = START + DAY
    over = visitor.get("/boards/table/results?phase=warm-up")
    assert (over.status_code, "waits for the organiser to conclude it" in over.text) == (409, True)
    concluded(own_world)
    page = visitor.get("/boards/table/results?phase=evaluation").text
    assert all(word in page for word in ("0.841", "0.829", "0.853", "Ben&#39;s"))
    assert visitor.get(f"{API}/boards/table/evaluation/results").json()["rows"][0]["score"] == 0.8411
    own = own_world.roles["participant"].client.get(f"/submissions/{number}").text
    assert UNTOLD[-1] in own
    assert own_world.roles["other"].client.get(f"/submissions/{number}").status_code == 404
    best = own_world.roles["participant"].client.get(f"{API}/submissions/{own_world.numbers['best']}").json()
    assert (best["low"], best["score"]) == (None, pytest.approx(0.7))  # it was not chosen


def test_a_hidden_phase_that_has_ended_says_that_its_final_results_are_to_come(own_world: World) -> None:
    told = "/boards/table?phase=evaluation"
    visitor = own_world.roles["visitor"].client
    assert "The labels of this phase are sealed." in visitor.get(told).text
    own_world.clock.now = START + 10 * DAY
    ended = visitor.get(told).text
    assert "This phase has ended, but its final results are not out yet" in ended
    assert "The labels of this phase are sealed." not in ended


def test_scores_are_compared_where_all_is_shown_and_nowhere_else(own_world: World) -> None:
    eve, visitor = own_world.user("eve"), own_world.roles["visitor"].client
    own_world.server.ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    number = own_world.scored(eve, OPEN, score(0.4))
    both = f"entry={number}&entry={own_world.numbers['open']}"
    page = visitor.get(f"/boards/table/compare?phase=development&{both}").text
    assert all(name in page for name in ("Ben&#39;s", "Eve&#39;s", "0.400", "0.500"))
    sealed = visitor.get(f"/boards/table/compare?phase=evaluation&entry={own_world.numbers['best']}")
    assert (sealed.status_code, "hidden until its end" in sealed.text) == (409, True)
    strange = visitor.get(f"{API}/boards/table/development/compare?entry={own_world.numbers['hidden']}&entry={number}")
    assert strange.status_code == 404
    assert visitor.post(f"{API}/boards/table/development/compare?{both}").status_code == 401


def test_a_receipt_is_verified_offline_and_is_its_teams_alone(own_world: World) -> None:
    number, ben = own_world.numbers["best"], own_world.roles["participant"].client
    first = ben.get("/checkpoint").json()
    found = ben.get(f"/submissions/{number}/receipt").json()
    assert found == ben.get(f"{API}/submissions/{number}/receipt").json()
    held = own_world.server.ledger.submission(number).sha256
    assert receipts.verified([found, first], key=ben.get(f"{API}/challenge").json()["key"], sha256=held)
    assert own_world.roles["other"].client.get(f"{API}/submissions/{number}/receipt").status_code == 404
    own_world.server.ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    own_world.scored(own_world.user("eve"), OPEN, score(0.4))
    growth = ben.get(f"/growth?first={first['size']}").json()
    assert receipts.verified([first, growth, ben.get("/checkpoint").json()])
    assert ben.get("/growth?first=99").status_code == 422


def test_a_team_takes_back_what_waits_and_chooses_what_counts(own_world: World) -> None:
    ben, waiting, best = own_world.roles["participant"], own_world.numbers["waiting"], own_world.numbers["best"]
    before = ben.client.get(f"{API}/boards/table/development/quota").json()["used"]
    assert own_world.roles["other"].post(f"/submissions/{waiting}/cancel").status_code == 409
    assert ben.post(f"/submissions/{waiting}/cancel").status_code == 303
    assert ben.client.get(f"{API}/boards/table/development/quota").json()["used"] == before - 1
    assert "cost no quota" in ben.client.get(f"/submissions/{waiting}").text
    assert ben.post(f"/submissions/{best}/choose", chosen="yes").status_code == 303
    refused = ben.client.put(
        f"{API}/submissions/{own_world.numbers['hidden']}/choice", json={"chosen": True},
        headers={"X-CSRF-Token": ben.csrf()},
    )  # fmt: skip
    assert (refused.status_code, "at most 1 chosen" in refused.text) == (409, True)
    assert own_world.roles["other"].post(f"/submissions/{best}/choose", chosen="yes").status_code == 404
    assert "Withdraw the choice" in ben.client.get(f"/submissions/{best}").text


def test_an_account_is_made_by_invitation_once_and_for_its_address(own_world: World) -> None:
    page = own_world.roles["organiser"].post("/desk/invitations", role="participant", email="new@example.org").text
    link = re.search(r"/invitations/[\w-]{43}", page)
    assert link
    guest = Visitor(own_world.server)
    fields = {"email": "new@example.org", "password": PASSWORD}
    assert "You are invited" in guest.client.get(link[0]).text
    assert guest.post(link[0], **{**fields, "email": "else@example.org"}).status_code == 403
    assert guest.post(link[0], **fields).status_code == 303
    assert Visitor(own_world.server).post(link[0], **{**fields, "email": "two@example.org"}).status_code == 403
    assert own_world.roles["organiser"].post("/desk/invitations", role="admin").status_code == 403


def test_a_forgotten_password_is_set_by_a_link_of_the_desk(own_world: World) -> None:
    ben, host = own_world.user("ben"), own_world.roles["organiser"]
    assert f'action="/desk/people/{ben.id}/password"' in host.client.get("/desk/people").text
    link = re.search(r"/passwords/[\w-]{43}", host.post(f"/desk/people/{ben.id}/password").text)
    assert link
    guest = Visitor(own_world.server)
    assert "The link works once" in guest.client.get(link[0]).text
    assert guest.post(link[0], password="short").status_code == 422
    assert guest.post(link[0], password="another long one").status_code == 303
    assert ben.email in guest.client.get("/account").text
    assert own_world.roles["participant"].client.get("/account").status_code == 303
    assert Visitor(own_world.server).post(link[0], password="one more long one").status_code == 403
    assert Visitor(own_world.server).post("/sign-in", email=ben.email, password="another long one").status_code == 303
    assert host.post(f"/desk/people/{own_world.user('admin').id}/password").status_code == 403
    assert f"account {ben.id}" in host.client.get("/desk/audit").text


def test_the_api_makes_links_for_passwords_too(own_world: World) -> None:
    ben, host = own_world.user("ben"), own_world.roles["organiser"]
    answer = host.client.post(f"{API}/desk/users/{ben.id}/password", headers={"X-CSRF-Token": host.csrf()})
    assert (answer.status_code, len(answer.json()["secret"])) == (201, 43)
    refused = own_world.roles["other"]
    codes = refused.client.post(f"{API}/desk/users/{ben.id}/password", headers={"X-CSRF-Token": refused.csrf()})
    assert codes.status_code == 403


def test_admins_alone_set_roles_and_the_new_role_counts_at_once(own_world: World) -> None:
    eve, other = own_world.user("eve"), own_world.roles["other"]
    assert own_world.roles["organiser"].post(f"/desk/people/{eve.id}/role", role="organiser").status_code == 403
    assert other.client.get("/desk").status_code == 403
    assert own_world.roles["admin"].post(f"/desk/people/{eve.id}/role", role="organiser").status_code == 303
    assert other.client.get("/desk").status_code == 200


def test_a_disqualified_team_leaves_the_board_with_a_reason_and_comes_back(own_world: World) -> None:
    ben, host = own_world.user("ben"), own_world.roles["organiser"]
    visitor = own_world.roles["visitor"].client
    assert '<th scope="row">Ben&#39;s' in visitor.get("/boards/table").text
    assert host.post(f"/desk/teams/{ben.team}/disqualify", reason="Two accounts <b>of one</b>.").status_code == 303
    page = visitor.get("/boards/table").text
    assert '<th scope="row">Ben&#39;s' not in page
    assert "Two accounts &lt;b&gt;of one&lt;/b&gt;." in page
    assert host.post(f"/desk/teams/{ben.team}/reinstate").status_code == 303
    assert '<th scope="row">Ben&#39;s' in visitor.get("/boards/table").text
    assert "disqualified" in host.client.get("/desk/audit").text


def test_labels_are_downloaded_after_their_release_and_the_rest_stays_sealed(own_world: World) -> None:
    own_world.server.ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    own_world.clock.now = START + DAY
    visitor, place = own_world.roles["visitor"].client, "/boards/table/labels/warm-up/truth.csv"
    assert visitor.get(place).status_code == 404
    assert own_world.roles["organiser"].post(f"/desk/phases/table/{HIDDEN.name}/release").status_code == 409
    assert own_world.roles["organiser"].post(f"/desk/phases/table/{OVER.name}/release").status_code == 303
    assert LABEL in visitor.get(place).text
    for name in ("../evaluation/truth.csv", "..%2fevaluation%2ftruth.csv", "../../seed.json"):
        assert LABEL not in visitor.get(f"/boards/table/labels/warm-up/{name}").text
    assert visitor.get("/boards/table/labels/evaluation/truth.csv").status_code == 404


def test_corrected_labels_make_old_scores_obsolete_with_a_reason(own_world: World) -> None:
    host, number = own_world.roles["organiser"], own_world.numbers["open"]
    assert host.post("/desk/phases/table/development/rescore").status_code == 303
    assert own_world.server.ledger.submission(number).state == "uploaded"
    body = {"labels": "1abe15", "reason": "Two stations were wrong."}
    assert host.post("/desk/phases/table/development/obsolete", **body).status_code == 303
    own = own_world.roles["participant"].client.get(f"/submissions/{number}").text
    assert "This score counts no more: Two stations were wrong." in own
    assert "It is being scored again. This page updates itself" in own
    assert own_world.roles["visitor"].client.get(f"{API}/boards/table/development").json()["rows"] == []


def test_a_submission_says_that_its_score_is_of_earlier_labels_and_while_it_is_scored_again(own_world: World) -> None:
    ben, number, server = own_world.roles["participant"].client, own_world.numbers["open"], own_world.server
    earlier, again = "this score is of the earlier ones", "It is being scored again, and keeps this score until then."
    assert earlier not in ben.get(f"/submissions/{number}").text
    sealed = {f"sealed/table/{phase.name}/truth.csv": "0" * 64 for phase in (OPEN, HIDDEN, OVER)}
    (server.folder / manifest.FILE).write_text(json.dumps({"format": manifest.FORMAT, "files": sealed}))
    assert earlier in ben.get(f"/submissions/{number}").text
    server.ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    assert own_world.roles["organiser"].post("/desk/phases/table/development/rescore").status_code == 303
    waiting = ben.get(f"/submissions/{number}").text
    assert (again in waiting, earlier in waiting) == (True, False)
    claimed = server.ledger.claim("w")
    assert claimed is not None
    corrected = manifest.labels(server.folder, "table", "development")
    assert server.ledger.finish(claimed.id, "w", replace(score(0.4), labels=corrected))
    scored = ben.get(f"/submissions/{number}").text
    assert (claimed.id, again in scored, earlier in scored) == (number, False, False)


def test_rows_name_the_version_that_differs_and_no_other(own_world: World) -> None:
    visitor, eve = own_world.roles["visitor"].client, own_world.user("eve")
    assert "Scored with labels <code>1abe15</code> by <code>shiftbench 1</code>" in visitor.get("/boards/table").text
    own_world.server.ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    own_world.scored(eve, OPEN, replace(score(0.4), scorer="shiftbench 2"))
    page = visitor.get("/boards/table").text
    assert "several versions of the scorer; each row" in page
    assert all(f"<small>shiftbench {n}</small>" in page for n in (1, 2))
    assert "<small>labels 1abe15" not in page


def test_visitors_get_a_kept_page_without_a_token_that_follows_the_ledger(own_world: World) -> None:
    visitor, host = Visitor(own_world.server).client, own_world.roles["organiser"]
    for page in (each for each in PAGES if each.kept):
        answer = visitor.get(page.path.format(board="table"))
        assert 'name="csrf"' not in answer.text, page
        assert "set-cookie" not in answer.headers
    assert "It rains." not in visitor.get("/").text
    assert host.post("/desk/news", text="It rains.\r\nTake an umbrella.").status_code == 303
    assert "It rains.\nTake an umbrella." in visitor.get("/").text
    assert "Hand in a file" in visitor.get("/boards/table").text
    own_world.clock.now = START + 10 * DAY
    assert "Hand in a file" not in visitor.get("/boards/table?phase=development").text


def test_another_password_ends_other_sessions(own_world: World) -> None:
    eve, elsewhere = own_world.roles["other"], Visitor(own_world.server)
    assert elsewhere.post("/sign-in", email="eve@example.org", password=PASSWORD).status_code == 303
    assert eve.post("/password", old="wrong password", password="another password").status_code == 401
    assert eve.post("/password", old=PASSWORD, password="another password").status_code == 303
    assert eve.client.get("/account").status_code == 200
    assert elsewhere.client.get("/account").status_code == 303


@pytest.mark.parametrize(
    ("address", "goal"),
    [("/boards/table", "/boards/table"), ("//evil.example", "/account"), ("https://evil.example", "/account"),
     ("/\\evil.example", "/account"), ("", "/account"), ("/a\nb", "/account")],
)  # fmt: skip
def test_signing_in_leads_to_this_server_alone(address: str, goal: str) -> None:
    assert following(address) == goal


def test_words_of_strangers_are_text_on_every_page(own_world: World) -> None:
    name, sql = "<script>alert(1)</script>", "'; DROP TABLE users; --"
    mallory = Visitor(own_world.server).joined("mallory@example.org", name)
    second = Visitor(own_world.server).joined('"><img/src=x>@example.org', sql)
    assert second.post("/tokens", name=sql).status_code == 200
    ledger = own_world.server.ledger
    ledger.stop(own_world.numbers["waiting"], own_world.user("admin"))
    user: User = next(each for each in ledger.users() if each.team_name == name)
    own_world.numbers["strange"] = own_world.scored(user, OPEN, score(0.3), '"><svg onload=alert(1)>.csv')
    assert mallory.client.get("/account").status_code == 200
    for role, visitor in {"visitor": own_world.roles["visitor"], "admin": own_world.roles["admin"]}.items():
        for page in PAGES:
            number = own_world.numbers["strange"]
            path = page.path.format(board="table", number=number, link="<script>alert(1)</script>")
            text = visitor.client.get(path).text
            assert "<script>alert" not in text, (role, path)
            assert "<svg onload" not in text, (role, path)
            assert "<img/src=x" not in text, (role, path)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in own_world.roles["visitor"].client.get("/boards/table").text
    assert ledger.team(sql) == ledger.teams()[-1].id


def test_pages_below_one_of_the_bar_mark_it_as_where_one_is(own_world: World) -> None:
    ben, host, best = own_world.roles["participant"].client, own_world.roles["admin"].client, own_world.numbers["best"]
    assert '<a href="/submissions" aria-current="page">' in ben.get("/submissions").text
    assert '<a href="/submissions" aria-current="true">' in ben.get(f"/submissions/{best}").text
    desk = host.get("/desk/people").text
    assert '<a href="/desk" aria-current="true">Desk' in desk
    assert '<a href="/desk">Queue' in desk
    assert '<a href="/desk/people" aria-current="page">' in desk


def test_the_api_describes_every_answer(own_world: World) -> None:
    described = application(own_world.server).openapi()
    plain = {
        (path, act)
        for path, acts in described["paths"].items()
        for act, told in acts.items()
        for code, answer in told["responses"].items()
        if code.startswith("2") and code != "204" and act not in ("head",)
        if answer.get("content", {}).get("application/json", {}).get("schema", {}) == {}
    }
    assert {path.rsplit("/", 1)[-1] for path, _ in plain} <= {"report"}  # pages of their own
    assert len(described["paths"]) > 35


def test_sent_files_are_kept_by_their_content(own_world: World) -> None:
    submission = own_world.server.ledger.submission(own_world.numbers["waiting"])
    assert sha256(own_world.server.uploads.file(submission.sha256).read_bytes()) == submission.sha256


def test_an_open_board_shows_in_domain_beside_shifted_and_the_report_in_a_sandbox(own_world: World) -> None:
    visitor, number = own_world.roles["visitor"].client, own_world.numbers["open"]
    assert "none yet" in visitor.get(f"/submissions/{number}/report").text
    assert "in-domain" not in visitor.get("/boards/table").text
    rng = np.random.default_rng(0)
    spread = rng.gamma(2.0, size=200)
    report = shiftbench.assess((spread * rng.normal(size=200)) ** 2, spread, shifted=rng.random(200) < 0.5)
    (newest, *_) = own_world.server.ledger.scores(number)
    room.write(report, own_world.server.uploads.state / "scored" / str(number) / f"{newest.id}.totals")
    own_world.clock.now += 60_000_000
    assert "R-AUC in-domain and on shifted records" in visitor.get("/boards/table").text
    answer = visitor.get(f"/submissions/{number}/report")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")  # its script has no cookie of ours
    assert "allow-same-origin" not in policy


def test_htmx_is_the_file_that_its_origin_names(world: World) -> None:
    folder = STATIC / "htmx"
    told = json.loads((folder / "origin.json").read_text("utf-8"))
    found = world.roles["visitor"].client.get("/static/htmx.js").content
    assert (sha256(found), told["version"][:2]) == (told["sha256"], "2.")
    assert "fee is hereby granted" in world.roles["visitor"].client.get("/static/htmx.txt").text
