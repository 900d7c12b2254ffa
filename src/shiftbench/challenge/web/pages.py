"""Every page and form as one list: path, template, what it shows or does, and who may see it.

A view takes a `Visit` and returns the values of its template; a form's view returns the address that follows.
Templates lie in `templates/`; they get `visit`, `challenge`, `csrf` (of forms) and the filters of `application`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shiftbench.challenge.web.views import accounts, boards, desk, submissions
from shiftbench.challenge.web.visit import Next, Visit

Who = Literal["anyone", "user", "organiser"]


@dataclass(frozen=True)
class Page:
    """A page to show: GET. kept: visitors without an account all get the same, as long as the ledger is the same."""

    path: str
    template: str
    view: Callable[[Visit], Mapping[str, Any]]
    who: Who = "anyone"
    kept: bool = False


@dataclass(frozen=True)
class Form:
    """A form that changes something: POST, with a CSRF token; then the browser goes to the address returned."""

    path: str
    act: Callable[[Visit], Next]
    who: Who = "user"
    password: bool = False


PAGES: tuple[Page, ...] = (
    Page("/", "home.html", boards.home, kept=True),
    Page("/boards/{board}", "board.html", boards.board, kept=True),
    Page("/boards/{board}/results", "results.html", boards.results),
    Page("/boards/{board}/compare", "compare.html", boards.compare),
    Page("/threats", "threats.html", boards.threat),
    Page("/sign-up", "sign_up.html", boards.nothing),
    Page("/sign-in", "sign_in.html", boards.nothing),
    Page("/once/{link}", "once.html", accounts.first_link),
    Page("/invitations/{link}", "invitation.html", accounts.invitation),
    Page("/passwords/{link}", "renewal.html", accounts.renewal),
    Page("/account", "account.html", accounts.account, "user"),
    Page("/submissions", "submissions.html", submissions.submissions, "user"),
    Page("/submissions/{number}", "submission.html", submissions.submission, "user"),
    Page("/desk", "desk/queue.html", desk.queue, "organiser"),
    Page("/desk/{number}/fault", "desk/fault.html", desk.fault, "organiser"),
    Page("/desk/teams", "desk/teams.html", desk.teams, "organiser"),
    Page("/desk/people", "desk/people.html", desk.people, "organiser"),
    Page("/desk/phases", "desk/phases.html", desk.phases, "organiser"),
    Page("/desk/news", "desk/news.html", desk.news, "organiser"),
    Page("/desk/audit", "desk/audit.html", desk.audit, "organiser"),
)
FORMS: tuple[Form, ...] = (
    Form("/sign-up", accounts.sign_up, "anyone", password=True),
    Form("/sign-in", accounts.sign_in, "anyone", password=True),
    Form("/once/{link}", accounts.accept, "anyone", password=True),
    Form("/invitations/{link}", accounts.accept, "anyone", password=True),
    Form("/passwords/{link}", accounts.renew, "anyone", password=True),
    Form("/sign-out", accounts.sign_out),
    Form("/password", accounts.change_password, password=True),
    Form("/teams", accounts.found_team),
    Form("/teams/join", accounts.join_team, password=True),
    Form("/tokens", accounts.issue_token),
    Form("/tokens/{number}/revoke", accounts.revoke_token),
    Form("/boards/{board}/submit", submissions.submit),
    Form("/boards/{board}/compare", boards.begin_comparison),
    Form("/uploads/{key}/discard", submissions.discard),
    Form("/submissions/{number}/cancel", submissions.cancel),
    Form("/submissions/{number}/choose", submissions.choose),
    Form("/desk/{number}/requeue", desk.requeue, "organiser"),
    Form("/desk/{number}/fail", desk.fail, "organiser"),
    Form("/desk/clock", desk.set_clock, "organiser"),
    Form("/desk/teams/{number}/disqualify", desk.disqualify, "organiser"),
    Form("/desk/teams/{number}/reinstate", desk.reinstate, "organiser"),
    Form("/desk/people/{number}/role", desk.set_role, "organiser"),
    Form("/desk/people/{number}/password", desk.offer_renewal, "organiser"),
    Form("/desk/invitations", desk.invite, "organiser"),
    Form("/desk/invitations/{number}/revoke", desk.revoke_invitation, "organiser"),
    Form("/desk/news", desk.announce, "organiser"),
    Form("/desk/phases/{board}/{phase}/conclude", desk.conclude, "organiser"),
    Form("/desk/phases/{board}/{phase}/release", desk.release, "organiser"),
    Form("/desk/phases/{board}/{phase}/rescore", desk.rescore, "organiser"),
    Form("/desk/phases/{board}/{phase}/obsolete", desk.obsolete, "organiser"),
)
