"""Every page as one list: path, template, what it shows or does, and who may see it.

A view takes a `Visit` and returns the values of its template; a form's view returns the address that follows.
Templates lie in `templates/`; they get `visit`, `challenge` and `csrf` (of forms), too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shiftbench.challenge.web import views
from shiftbench.challenge.web.views import Visit

Who = Literal["anyone", "user", "organiser"]


@dataclass(frozen=True)
class Page:
    """A page to show: GET."""

    path: str
    template: str
    view: Callable[[Visit], Mapping[str, Any]]
    who: Who = "anyone"


@dataclass(frozen=True)
class Form:
    """A form that changes something: POST, with a CSRF token; then the browser goes to the address returned."""

    path: str
    act: Callable[[Visit], views.Next]
    who: Who = "user"
    password: bool = False


PAGES: tuple[Page, ...] = (
    Page("/", "home.html", views.home),
    Page("/sign-up", "sign_up.html", views.nothing),
    Page("/sign-in", "sign_in.html", views.nothing),
    Page("/once/{link}", "once.html", views.once),
    Page("/boards/{board}", "board.html", views.board),
    Page("/account", "account.html", views.account, "user"),
    Page("/submissions", "submissions.html", views.submissions, "user"),
    Page("/submissions/{number}", "submission.html", views.submission, "user"),
    Page("/desk", "desk.html", views.desk, "organiser"),
)
FORMS: tuple[Form, ...] = (
    Form("/sign-up", views.sign_up, "anyone", password=True),
    Form("/sign-in", views.sign_in, "anyone", password=True),
    Form("/once/{link}", views.make_admin, "anyone", password=True),
    Form("/sign-out", views.sign_out),
    Form("/teams", views.found_team),
    Form("/teams/join", views.join_team, password=True),
    Form("/tokens", views.issue_token),
    Form("/tokens/{number}/revoke", views.revoke_token),
    Form("/boards/{board}/submit", views.submit),
    Form("/desk/{number}/requeue", views.requeue, "organiser"),
    Form("/desk/{number}/fail", views.fail, "organiser"),
)
