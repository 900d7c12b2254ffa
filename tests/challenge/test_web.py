"""The server over HTTP, in process: accounts, forms, uploads, and what each role may see."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace

import pytest
from httpx import Response
from starlette.testclient import TestClient

from shiftbench.challenge.store.records import SECOND, UPLOAD_RESTS, NewScore, Refused
from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.pages import FORMS
from shiftbench.challenge.web.security import CHUNK, Rates, place
from shiftbench.challenge.web.server import Server, opened

from .conftest import PASSWORD, SECRET, START, Clock, Visitor

DATA = b"id,answer,uncertainty\n1,2,3\n"
BEGIN = {"board": "table", "name": "answers.csv", "size": len(DATA)}


def sent(visitor: Visitor, token: dict[str, str], data: bytes = DATA, **more: object) -> int:
    """The number of a submission uploaded in one chunk."""
    api = visitor.client
    begun = api.post("/api/v1/uploads", json={**BEGIN, "size": len(data), **more}, headers=token)
    assert begun.status_code == 201, begun.text
    path = f"/api/v1/uploads/{begun.json()['id']}"
    assert api.patch(path, content=data, headers={**token, "Upload-Offset": "0"}).status_code == 204
    done = api.post(f"{path}/complete", json={"sha256": hashlib.sha256(data).hexdigest()}, headers=token)
    assert done.status_code == 200, done.text
    return int(done.json()["id"])


@pytest.fixture
def anna(visitor: Visitor) -> Visitor:
    return visitor.joined("anna@example.org", "Anna's")


@pytest.fixture
def organiser(server: Server) -> Visitor:
    link = server.ledger.issue("link", None, lasts=10**9)
    made = Visitor(server)
    assert made.post(f"/once/{link}", email="host@example.org", password=PASSWORD).status_code == 303
    return made


def test_every_answer_carries_the_headers(visitor: Visitor):
    for path in ("/", "/nowhere", "/desk", "/api/v1/me", "/static/style.css"):
        headers = visitor.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_form_without_the_pages_token_changes_nothing(visitor: Visitor, server: Server):
    fields = {"email": "eve@example.org", "password": PASSWORD}
    visitor.client.get("/sign-up")
    assert visitor.client.post("/sign-up", data=fields).status_code == 403
    assert visitor.client.post("/sign-up", data={**fields, "csrf": "0" * 64}).status_code == 403
    assert server.ledger.password("eve@example.org") is None


def test_every_form_needs_the_token(organiser: Visitor):
    paths = [form.path.format(link="x", key="x", number="1", board="table", phase="development") for form in FORMS]
    answers = {path: organiser.client.post(path, data={"email": "a@b.c"}).status_code for path in paths}
    assert set(answers.values()) == {403}, answers


def test_a_session_of_the_api_needs_the_token_too(anna: Visitor):
    assert anna.client.post("/api/v1/uploads", json=BEGIN).status_code == 403
    headers = {"X-CSRF-Token": anna.csrf()}
    assert anna.client.post("/api/v1/uploads", json=BEGIN, headers=headers).status_code == 201


def test_signing_in_changes_the_cookie_and_signing_out_ends_it(anna: Visitor):
    before = anna.client.cookies["shiftbench"]
    assert anna.post("/sign-out").status_code == 303
    anna.client.cookies.clear()
    anna.client.cookies.set("shiftbench", before, domain="testserver.local", path="/")
    assert anna.client.get("/account").headers["location"].startswith("/sign-in")
    assert anna.post("/sign-in", email="ANNA@example.org", password=PASSWORD).status_code == 303
    assert anna.client.cookies["shiftbench"] != before
    assert anna.client.get("/account").status_code == 200


def test_a_wrong_password_and_an_unknown_address_answer_alike(anna: Visitor):
    anna.post("/sign-out")
    answers = [anna.post("/sign-in", email=f"{name}@example.org", password="x" * 12) for name in ("anna", "nobody")]
    assert {answer.status_code for answer in answers} == {401}
    assert answers[0].text == answers[1].text


def test_the_admins_link_works_once(server: Server, organiser: Visitor):
    assert server.ledger.has_admin()
    assert organiser.client.get("/desk").status_code == 200
    old = server.ledger.issue("link", None, lasts=10**9)
    fields = {"email": "two@example.org", "password": PASSWORD}
    assert Visitor(server).post(f"/once/{old}", **fields).status_code == 303
    assert Visitor(server).post(f"/once/{old}", **{**fields, "email": "three@example.org"}).status_code == 403


def test_cookies_are_secure_behind_https(server: Server):
    client = TestClient(application(server), base_url="https://testserver")
    cookie = client.get("/sign-in").headers["set-cookie"]
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=lax"))


def test_an_upload_resumes_and_a_repeated_completion_is_the_same_submission(anna: Visitor, server: Server):
    token, api = anna.token(), anna.client
    path = "/api/v1/uploads/" + api.post("/api/v1/uploads", json=BEGIN, headers=token).json()["id"]
    assert api.patch(path, content=DATA[:9], headers={**token, "Upload-Offset": "0"}).headers["upload-offset"] == "9"
    again = api.patch(path, content=DATA[:9], headers={**token, "Upload-Offset": "0"})
    assert (again.status_code, api.head(path, headers=token).headers["upload-offset"]) == (409, "9")
    assert api.post(f"{path}/complete", json={"sha256": "0" * 64}, headers=token).status_code == 409
    assert api.patch(path, content=DATA[9:], headers={**token, "Upload-Offset": "9"}).status_code == 204
    whole = {"sha256": hashlib.sha256(DATA).hexdigest()}
    first, second = (api.post(f"{path}/complete", json=whole, headers=token).json() for _ in range(2))
    assert (first, first["state"]) == (second, "uploaded")
    assert server.uploads.file(whole["sha256"]).read_bytes() == DATA
    assert [*(server.uploads.state / "uploads").iterdir()] == []


def test_a_file_with_another_hash_is_dropped(anna: Visitor, server: Server):
    token, api = anna.token(), anna.client
    path = "/api/v1/uploads/" + api.post("/api/v1/uploads", json=BEGIN, headers=token).json()["id"]
    api.patch(path, content=DATA, headers={**token, "Upload-Offset": "0"})
    assert api.post(f"{path}/complete", json={"sha256": "0" * 64}, headers=token).status_code == 422
    assert api.head(path, headers=token).status_code == 404
    assert server.ledger.submissions() == []


def test_the_bytes_of_an_upload_that_is_over_are_removed(anna: Visitor, server: Server, clock: Clock):
    token = anna.token()
    begun = anna.client.post("/api/v1/uploads", json=BEGIN, headers=token).json()
    chunk = {**token, "Upload-Offset": "0"}
    assert anna.client.patch(f"/api/v1/uploads/{begun['id']}", content=DATA[:5], headers=chunk).status_code == 204
    assert len([*(server.uploads.state / "uploads").iterdir()]) == 1
    clock.now += UPLOAD_RESTS + 1
    sent(anna, token)
    assert [*(server.uploads.state / "uploads").iterdir()] == []


def test_a_file_handed_in_again_leaves_the_stored_one_to_those_who_read_it(anna: Visitor, server: Server):
    token = anna.token()
    sent(anna, token)
    stored = server.uploads.file(hashlib.sha256(DATA).hexdigest())
    place = stored.stat().st_ino
    sent(anna, token)
    assert stored.stat().st_ino == place
    assert [*(server.uploads.state / "uploads").iterdir()] == []


def test_more_bytes_than_declared_are_refused(anna: Visitor):
    token, api = anna.token(), anna.client
    path = "/api/v1/uploads/" + api.post("/api/v1/uploads", json=BEGIN, headers=token).json()["id"]
    headers = {**token, "Upload-Offset": "0"}
    assert api.patch(path, content=DATA + b"x", headers=headers).status_code == 413
    assert api.patch(path, content=b"x" * (CHUNK + 1), headers=headers).status_code == 413
    assert api.post("/api/v1/uploads", json={**BEGIN, "size": 10**10}, headers=token).status_code == 413
    assert api.head(path, headers=token).headers["upload-offset"] == "0"


def test_a_form_without_script_submits_a_whole_file(anna: Visitor, server: Server):
    files = {"file": ("../../sealed/table/truth.csv", DATA)}
    done = anna.client.post("/boards/table/submit", data={"csrf": anna.csrf()}, files=files)
    assert done.headers["location"] == "/submissions/1"
    assert server.ledger.submission(1).name == "truth.csv"
    assert "uploaded" in anna.client.get("/submissions/1").text


def test_a_flood_of_parts_and_a_body_too_large_are_refused(anna: Visitor):
    flood = {f"field{n}": (None, "x") for n in range(30)}
    assert anna.client.post("/boards/table/submit", files=flood).status_code == 400
    large = {"file": ("a.csv", b"x" * (2**20 + 2**17))}
    assert anna.client.post("/boards/table/submit", files=large).status_code == 413
    assert anna.client.post("/sign-in", content=b"x" * 2**17).status_code == 413


def test_a_body_of_unknown_length_is_counted_while_it_comes(anna: Visitor):
    token, api = anna.token(), anna.client
    path = "/api/v1/uploads/" + api.post("/api/v1/uploads", json=BEGIN, headers=token).json()["id"]
    endless = (b"x" * 2**20 for _ in range(9))
    assert api.patch(path, content=endless, headers={**token, "Upload-Offset": "0"}).status_code == 413


def test_the_first_byte_decides_on_the_phase_and_a_clock_that_jumps_back_reopens_none(anna: Visitor, clock: Clock):
    token, api = anna.token(), anna.client
    clock.now = START + 10**12 - 1
    path = "/api/v1/uploads/" + api.post("/api/v1/uploads", json=BEGIN, headers=token).json()["id"]
    clock.now = START + 10**12
    late = api.post("/api/v1/uploads", json={**BEGIN, "phase": "development"}, headers=token)
    assert (late.status_code, "is closed now" in late.text) == (409, True)
    clock.now = START
    assert api.post("/api/v1/uploads", json={**BEGIN, "phase": "development"}, headers=token).status_code == 409
    api.patch(path, content=DATA, headers={**token, "Upload-Offset": "0"})
    whole = {"sha256": hashlib.sha256(DATA).hexdigest()}
    assert api.post(f"{path}/complete", json=whole, headers=token).json()["phase"] == "development"


def test_a_visitor_who_signs_in_to_hand_in_comes_back_to_the_phase(visitor: Visitor):
    told = visitor.client.get("/boards/table?phase=development").text
    assert 'href="/sign-in?next=/boards/table%3Fphase%3Ddevelopment"' in told


def test_a_problem_of_a_board_leads_back_to_it(visitor: Visitor):
    answer = visitor.client.get("/boards/table/compare?phase=development")
    assert (answer.status_code, '<a class="button quiet" href="/boards/table">' in answer.text) == (409, True)
    assert 'href="/boards/table">Back' not in visitor.client.get("/nowhere").text


def test_a_refused_account_leads_back_to_the_form(visitor: Visitor):
    answer = visitor.post("/sign-up", email="no address", password=PASSWORD)
    assert (answer.status_code, 'href="/sign-up">Try again</a>' in answer.text) == (422, True)


def test_quota_is_charged_for_scores_and_not_for_our_own_faults(anna: Visitor, server: Server):
    token, ledger = anna.token(), server.ledger
    for fault in ("ours", "ours", "submission"):
        claimed = sent(anna, token)
        assert ledger.claim("w") == replace(ledger.submission(claimed), state="validating")
        assert ledger.fail(claimed, "w", fault, ["why"])
    numbers = [sent(anna, token, DATA + b"\n" * n) for n in range(3)]
    refused = anna.client.post("/api/v1/uploads", json=BEGIN, headers=token)
    assert (refused.status_code, "less than 3 submissions today" in refused.text) == (409, True)
    ledger.claim("w")
    ledger.fail(numbers[0], "w", "submission", ["why"])
    refused = anna.client.post("/api/v1/uploads", json=BEGIN, headers=token)
    assert (refused.status_code, "less than 2 failures in the last hour" in refused.text) == (409, True)


def test_a_worker_whose_lease_is_gone_can_finish_nothing(anna: Visitor, server: Server, clock: Clock):
    number, ledger = sent(anna, anna.token()), server.ledger
    assert ledger.claim("one") is not None
    assert ledger.claim("two") is None
    clock.now += 10**9
    assert not ledger.finish(number, "one", NewScore("labels", "scorer", 1.0))
    assert ledger.claim("two") is not None
    assert not ledger.finish(number, "one", NewScore("labels", "scorer", 1.0))
    assert ledger.finish(number, "two", NewScore("labels", "scorer", 2.0))
    assert not ledger.finish(number, "two", NewScore("labels", "scorer", 3.0))
    assert ledger.submission(number).score == 2.0


def test_a_failed_submission_is_never_ranked(anna: Visitor, server: Server):
    token, ledger = anna.token(), server.ledger
    for score in (None, 3.0, 1.0):
        number = sent(anna, token)
        ledger.claim("w")
        if score is None:
            assert ledger.fail(number, "w", "submission", ["why"])
        else:
            assert ledger.finish(number, "w", NewScore("labels", "scorer", score))
    assert [(row.rank, row.score) for row in server.rows(*server.phase("table", "development"))] == [(1, 1.0)]
    assert '<td class="rank" data-name="Rank">1</td><th scope="row">Anna&#39;s' in anna.client.get("/boards/table").text


def test_an_organiser_submits_for_a_team_and_it_is_logged(anna: Visitor, organiser: Visitor, server: Server):
    number = sent(organiser, organiser.token(), for_team="Anna's")
    assert server.ledger.submission(number).team_name == "Anna's"
    assert [act.action for act in server.ledger.audit()] == ["submitted for another team"]
    refused = anna.client.post("/api/v1/uploads", json={**BEGIN, "for_team": "Anna's"}, headers=anna.token())
    assert refused.status_code == 403


def test_requeue_and_fail_are_buttons_of_the_organiser_alone(anna: Visitor, organiser: Visitor, server: Server):
    number = sent(anna, anna.token())
    assert anna.post(f"/desk/{number}/fail").status_code == 403
    assert organiser.post(f"/desk/{number}/fail").status_code == 303
    assert (server.ledger.submission(number).state, server.ledger.submission(number).fault) == ("failed", "ours")
    assert organiser.post(f"/desk/{number}/requeue").status_code == 303
    assert server.ledger.submission(number).state == "uploaded"


def test_a_phase_that_ended_without_a_score_offers_nothing_to_conclude(
    anna: Visitor, organiser: Visitor, server: Server, clock: Clock
):
    number = sent(anna, anna.token(), b"x")
    assert "<dd>1 byte</dd>" in anna.client.get(f"/submissions/{number}").text
    assert organiser.post(f"/desk/{number}/fail").status_code == 303
    clock.now = START + 10**12
    page = organiser.client.get("/desk/phases").text
    assert "No submission has a score: there is nothing to conclude." in page
    assert "/development/conclude" not in page
    assert "/development/rescore" in page
    assert "/later/rescore" not in page
    assert "nothing to rank" in organiser.post("/desk/phases/table/development/conclude").text


def test_the_desk_shows_faults_of_the_server_to_organisers_alone(anna: Visitor, organiser: Visitor, server: Server):
    number, faults = sent(anna, anna.token()), server.uploads.state / "faults"
    assert organiser.client.get(f"/desk/{number}/fault").status_code == 404
    assert "What went wrong" not in organiser.client.get("/desk").text
    faults.mkdir()
    (faults / f"{number}.txt").write_text("ValueError: sealed-label-7f3a")
    (faults / f"{number}.desk.txt").write_text("ValueError\n  scoring.py, line 7, in <module>\n")
    assert f'href="/desk/{number}/fault"' in organiser.client.get("/desk").text
    page = organiser.client.get(f"/desk/{number}/fault").text
    assert "scoring.py, line 7, in &lt;module&gt;" in page
    assert "sealed-label" not in page
    told = organiser.client.get(f"/api/v1/desk/submissions/{number}/fault", headers=organiser.token()).json()
    assert told == {"text": "ValueError\n  scoring.py, line 7, in <module>\n"}
    assert anna.client.get(f"/desk/{number}/fault").status_code == 403


def test_teams_see_neither_uploads_nor_submissions_of_others(anna: Visitor, server: Server):
    number = sent(anna, anna.token())
    other = Visitor(server).joined("ben@example.org", "Ben's")
    token = other.token()
    assert other.client.get(f"/api/v1/submissions/{number}", headers=token).status_code == 404
    assert other.client.get(f"/submissions/{number}").status_code == 404
    assert other.client.get("/api/v1/submissions", headers=token).json() == []
    key = anna.client.post("/api/v1/uploads", json=BEGIN, headers=anna.token()).json()["id"]
    assert other.client.head(f"/api/v1/uploads/{key}", headers=token).status_code == 404


def test_rates_fill_again():
    now = [0.0]
    rates = Rates(lambda: now[0])
    for _ in range(3):
        rates.take("act", "here", 3)
    with pytest.raises(Refused, match="at most 3"):
        rates.take("act", "here", 3)
    rates.take("act", "there", 3)
    now[0] = 20.0
    rates.take("act", "here", 3)
    with pytest.raises(Refused, match="at most 3"):
        rates.take("act", "here", 3)


def test_passwords_are_tried_a_few_times_a_minute(server: Server):
    strict = replace(server, limits=replace(server.limits, passwords=2))
    tried = Visitor(strict)
    codes = [tried.post("/sign-in", email="a@example.org", password="x" * 12).status_code for _ in range(3)]
    assert codes == [401, 401, 429]


def test_a_restart_gives_no_tries_of_passwords_back(server: Server, clock: Clock):
    few = {"limits": replace(server.limits, passwords=2), "clock": clock, "passwords": server.passwords}
    for codes in ([401, 401], [429]):
        again = opened(server.folder, server.uploads.state, **few)
        found = [Visitor(again).post("/sign-in", email="a@example.org", password="x" * 12) for _ in codes]
        assert [each.status_code for each in found] == codes
    clock.now += 30 * SECOND
    assert Visitor(again).post("/sign-in", email="a@example.org", password="x" * 12).status_code == 401


def tried(server: Server, address: str, password: str) -> int:
    """The status of an attempt to sign in as Anna from an address."""
    return answered(server, address, password).status_code


def answered(server: Server, address: str, password: str) -> Response:
    return Visitor(server, address).post("/sign-in", email="Anna@example.org", password=password)


def test_wrong_passwords_from_elsewhere_keep_nobody_out_who_has_the_right_one(anna: Visitor, server: Server):
    limits = replace(server.limits, passwords=10, wrong=12, slowly=2)
    strict = replace(server, limits=limits)
    assert [tried(strict, "192.0.2.1", "x" * 12) for _ in range(11)] == [401] * 10 + [429]
    assert [tried(strict, "192.0.2.2", PASSWORD) for _ in range(9)] == [303] * 9
    codes = [tried(strict, f"198.51.100.{n}", "x" * 12) for n in range(4) for _ in range(3)]
    assert codes == [401, 401, 401] + [401, 401, 429] * 3
    assert answered(strict, "198.51.100.1", "x" * 12).headers["Retry-After"] == "600"
    assert tried(strict, "203.0.113.5", PASSWORD) == 303


def test_an_address_of_ipv6_is_counted_with_its_network(server: Server):
    assert place("2001:db8::1") == place("2001:db8::ffff:2") != place("2001:db8:0:1::1")
    assert place("::ffff:192.0.2.1") == place("192.0.2.1") == "192.0.2.1"


def test_unfinished_uploads_are_listed_and_members_of_the_team_discard_them(anna: Visitor, server: Server):
    token = anna.token()
    for _ in range(3):
        begun = anna.client.post("/api/v1/uploads", json=BEGIN, headers=token).json()
    anna.client.patch(f"/api/v1/uploads/{begun['id']}", content=DATA[:5], headers={**token, "Upload-Offset": "0"})
    refused = anna.client.post("/api/v1/uploads", json=BEGIN, headers=token)
    assert (refused.status_code, "3 of them unfinished uploads. Wait until" in refused.text) == (409, True)
    ben, other = Visitor(server).joined("ben@example.org"), Visitor(server).joined("eve@example.org", "Eve's")
    assert ben.post("/teams/join", code=server.ledger.code(1)).status_code == 303
    listed = ben.client.get("/api/v1/uploads", headers=ben.token()).json()
    assert sorted((each["name"], each["received"], each["ends"]) for each in listed) == [
        ("answers.csv", 0, START + UPLOAD_RESTS), ("answers.csv", 0, START + UPLOAD_RESTS),
        ("answers.csv", 5, START + UPLOAD_RESTS),
    ]  # fmt: skip
    assert other.client.get("/api/v1/uploads", headers=other.token()).json() == []
    assert other.post(f"/uploads/{begun['id']}/discard").status_code == 404
    assert f"5 of {len(DATA)} bytes" in ben.client.get("/submissions").text
    assert "3 of them by" in ben.client.get("/boards/table").text
    assert ben.post(f"/uploads/{begun['id']}/discard").status_code == 303
    assert [*(server.uploads.state / "uploads").iterdir()] == []
    left = next(each["id"] for each in listed if each["id"] != begun["id"])
    assert other.client.delete(f"/api/v1/uploads/{left}", headers=other.token()).status_code == 404
    assert ben.client.delete(f"/api/v1/uploads/{left}", headers=ben.token()).status_code == 204
    whole = server.begin(server.ledger.user(1), "table", None, ("a.csv", 1), None)
    server.uploads.append(whole.id, 0, b"x")
    number = server.uploads.complete(whole.id)
    assert ben.post(f"/uploads/{whole.id}/discard").status_code == 409
    assert server.ledger.submission(number).state == "uploaded"


def test_organisers_see_and_discard_the_unfinished_uploads_of_all_teams(
    anna: Visitor, organiser: Visitor, server: Server
):
    keys = [anna.client.post("/api/v1/uploads", json=BEGIN, headers=anna.token()).json()["id"] for _ in range(2)]
    assert "On their way" in organiser.client.get("/desk").text
    listed = organiser.client.get("/api/v1/uploads", headers=organiser.token()).json()
    assert {(each["team"], each["id"]) for each in listed} == {("Anna's", key) for key in keys}
    assert organiser.client.head(f"/api/v1/uploads/{keys[0]}", headers=organiser.token()).status_code == 404
    gone = organiser.post(f"/uploads/{keys[0]}/discard")
    assert (gone.status_code, gone.headers["location"]) == (303, "/desk")
    assert organiser.client.delete(f"/api/v1/uploads/{keys[1]}", headers=organiser.token()).status_code == 204
    assert "On their way" not in organiser.client.get("/desk").text
    assert [act.action for act in server.ledger.audit()] == ["discarded an upload"] * 2


def test_another_password_ends_other_sessions_and_tokens_and_the_page_says_so(anna: Visitor, server: Server):
    token, elsewhere = anna.token(), Visitor(server)
    assert elsewhere.post("/sign-in", email="anna@example.org", password=PASSWORD).status_code == 303
    assert "all other sessions and all tokens end" in anna.client.get("/account").text
    assert anna.post("/password", old=PASSWORD, password="another horse").status_code == 303
    assert anna.client.get("/account").status_code == 200
    assert elsewhere.client.get("/account").status_code == 303
    assert anna.client.get("/api/v1/me", headers=token).status_code == 401


def test_a_token_of_somebody_else_is_not_found(anna: Visitor, server: Server):
    token, other = anna.token(), Visitor(server).joined("eve@example.org")
    ((number, _),) = server.ledger.tokens(1)
    assert other.client.delete(f"/api/v1/tokens/{number}", headers=other.token()).status_code == 404
    assert anna.client.delete(f"/api/v1/tokens/{number}", headers=token).status_code == 204
    assert anna.client.get("/api/v1/me", headers=token).status_code == 401


@pytest.mark.parametrize("again", [False, True])
def test_a_file_system_without_hard_links_keeps_uploads_too(anna: Visitor, server: Server, monkeypatch, again: bool):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    token = anna.token()
    if again:
        sent(anna, token)
    monkeypatch.setattr(os, "link", refuse)
    number = sent(anna, token)
    stored = server.uploads.file(hashlib.sha256(DATA).hexdigest())
    assert stored.read_bytes() == DATA
    assert server.ledger.submission(number).sha256 == stored.name
    assert [*(server.uploads.state / "uploads").iterdir()] == []


def test_a_fault_of_the_server_is_told_without_its_words(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object, **__: object) -> None:
        raise RuntimeError(f"the label is {SECRET}")

    visitor = Visitor(server)
    monkeypatch.setattr(server.ledger, "announcements", fault)
    client = TestClient(visitor.client.app, raise_server_exceptions=False)
    for path, kind in (("/", "text/html"), ("/api/v1/announcements", "application/json")):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (500, kind)
        assert "expected a server without faults" in answer.text.lower()
        assert "that it happened at 2023-11-14 22:13:20 utc" in answer.text.lower()
        assert SECRET not in answer.text
    client.cookies = visitor.joined("anna@example.org").client.cookies
    assert 'href="/account"' in client.get("/").text  # nobody seems to be signed out by it
