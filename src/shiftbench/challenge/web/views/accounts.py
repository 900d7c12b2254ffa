"""Pages and forms of accounts, teams and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.challenge.store import names
from shiftbench.challenge.store.accounts import LINK, RENEWAL
from shiftbench.challenge.store.records import DAY, SESSION_LASTS, Refused
from shiftbench.challenge.web.security import count_try
from shiftbench.challenge.web.visit import Next, Visit

TOKEN_LASTS = 365 * DAY


def _link(visit: Visit, *kinds: str) -> Mapping[str, Any]:
    """The form that a one-time link opens; it is spent when the form is sent."""
    if not any(visit.server.ledger.offers(kind, visit.path["link"]) for kind in kinds):
        raise Refused(
            "expected a link that still works, found one that was used, is too old or is misspelt. "
            "If you have used it, sign in; otherwise ask whoever sent it for a new one.",
            status=410,
        )
    return {"link": visit.path["link"]}


def first_link(visit: Visit) -> Mapping[str, Any]:
    """What makes the admin of a new server."""
    return _link(visit, LINK)


def invitation(visit: Visit) -> Mapping[str, Any]:
    """What makes an account."""
    return _link(visit, "invitation", LINK)


def renewal(visit: Visit) -> Mapping[str, Any]:
    """What sets another password."""
    return _link(visit, RENEWAL)


def account(visit: Visit) -> Mapping[str, Any]:
    """The account, its team and tokens."""
    user, ledger = visit.account, visit.server.ledger
    team = next((each for each in ledger.teams() if each.id == user.team), None)
    code = ledger.code(user.team) if user.team is not None else None
    return {"tokens": ledger.tokens(user.id), "code": code, "team": team}


def _entered(visit: Visit, user: int) -> Next:
    """A session under a new cookie, so that one known before signing in is worth nothing."""
    if visit.user is not None:
        visit.server.ledger.spend("session", visit.cookie)
    cookie = visit.server.ledger.issue("session", user, lasts=SESSION_LASTS)
    return Next(following(visit.form.get("next", "")), cookie)


def following(address: str) -> str:
    """A path of this server to go to after signing in; the account's page where it is none."""
    plain = address.startswith("/") and not address.startswith("//") and "\\" not in address and address.isprintable()
    return address if plain else "/account"


def _email(visit: Visit) -> str:
    return names.email(visit.form.get("email", ""))


def _hashed(visit: Visit) -> str:
    return visit.server.passwords.hash(visit.form.get("password", ""))


def sign_up(visit: Visit) -> Next:
    """Add an account and open a session."""
    if not visit.server.challenge.sign_up:
        raise Refused("expected an invitation: this challenge has accounts by invitation only.", status=403)
    return _entered(visit, visit.server.ledger.sign_up(_email(visit), _hashed(visit)).id)


def accept(visit: Visit) -> Next:
    """Add an account by an invitation."""
    user = visit.server.ledger.sign_up(_email(visit), _hashed(visit), invitation=visit.path["link"])
    return _entered(visit, user.id)


def sign_in(visit: Visit) -> Next:
    """Open a session."""
    server, email = visit.server, _email(visit)
    right = count_try(server.ledger, server.limits, names.email(email), visit.address)
    found = server.ledger.password(email)
    if not server.passwords.agree(found[1] if found else None, visit.form.get("password", "")) or not found:
        raise Refused("expected the address and password of an account, found another. Try again.", status=401)
    right()
    return _entered(visit, found[0])


def change_password(visit: Visit) -> Next:
    """Another password; all other sessions and all tokens end."""
    server, user = visit.server, visit.account
    right = count_try(server.ledger, server.limits, user.email, visit.address)
    found = server.ledger.password(user.email)
    if found is None or not server.passwords.agree(found[1], visit.form.get("old", "")):
        raise Refused("expected the password that you have now, found another. Try again.", status=401)
    right()
    server.ledger.set_password(user.id, _hashed(visit))
    return Next("/account", server.ledger.issue("session", user.id, lasts=SESSION_LASTS))


def renew(visit: Visit) -> Next:
    """Another password by a link of the organisers, and a session."""
    return _entered(visit, visit.server.ledger.renew(visit.path["link"], _hashed(visit)))


def sign_out(visit: Visit) -> Next:
    """End the session."""
    visit.server.ledger.spend("session", visit.cookie)
    return Next("/", "")


def found_team(visit: Visit) -> Next:
    """Found a team."""
    visit.server.ledger.found(visit.form.get("name", ""), visit.account.id)
    return Next("/account")


def join_team(visit: Visit) -> Next:
    """Join a team by its code."""
    visit.server.join(visit.field("code"), visit.account)
    return Next("/account")


def issue_token(visit: Visit) -> Next:
    """A token for the command line; it is shown once."""
    name = visit.field("name")
    return Next("/account", token=visit.server.ledger.issue("token", visit.account.id, lasts=TOKEN_LASTS, name=name))


def revoke_token(visit: Visit) -> Next:
    """End a token."""
    visit.server.ledger.revoke(visit.account.id, visit.number())
    return Next("/account")
