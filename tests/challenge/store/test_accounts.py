"""Accounts, invitations, roles, secrets and teams."""

from __future__ import annotations

import pytest

from shiftbench.challenge.store.records import DAY, INVITATION_LASTS, RENEWAL_LASTS, Refused

from .world import OPEN, World


def test_an_address_has_one_account_however_it_is_written(world: World):
    world.ledger.sign_up("anna@example.org", "hash")
    with pytest.raises(Refused, match=r"found 'anna@example\.org' in use"):
        world.ledger.sign_up(" ANNA@example.org", "other")
    assert world.ledger.password("Anna@Example.org") == (1, "hash")


def test_an_invitation_makes_one_account_of_its_role(world: World):
    admin, ledger = world.user("admin"), world.ledger
    secret = ledger.invite("organiser", admin)
    assert ledger.sign_up("ben@example.org", "hash", invitation=secret).role == "organiser"
    with pytest.raises(Refused, match="expected an invitation that was not used before") as refused:
        ledger.sign_up("eve@example.org", "hash", invitation=secret)
    assert refused.value.status == 403
    assert ledger.password("eve@example.org") is None


def test_an_invitation_for_an_address_is_for_nobody_else_and_a_failed_sign_up_does_not_spend_it(world: World):
    host, ledger = world.user("organiser"), world.ledger
    ledger.sign_up("used@example.org", "hash")
    secret = ledger.invite("participant", host, "Ben@example.org")
    for email in ("eve@example.org", "used@example.org"):
        with pytest.raises(Refused):
            ledger.sign_up(email, "hash", invitation=secret)
    assert ledger.sign_up("ben@example.org", "hash", invitation=secret).role == "participant"


def test_invitations_are_listed_revoked_and_end(world: World):
    host, ledger = world.user("organiser"), world.ledger
    first, second = ledger.invite("participant", host, "ben@example.org"), ledger.invite("participant", host)
    listed = ledger.invitations()
    assert [(each.role, each.email) for each in listed] == [("participant", "ben@example.org"), ("participant", None)]
    ledger.revoke_invitation(listed[0].number, host)
    world.clock.now += INVITATION_LASTS
    assert ledger.invitations() == []
    for secret in (first, second):
        with pytest.raises(Refused, match="expected an invitation"):
            ledger.sign_up("ben@example.org", "hash", invitation=secret)


def test_who_may_invite_whom(world: World):
    ledger = world.ledger
    for by, role in (("participant", "participant"), ("organiser", "organiser"), ("organiser", "admin")):
        with pytest.raises(Refused, match="expected an admin to invite organisers"):
            ledger.invite(role, world.user(by))
    with pytest.raises(Refused, match="expected a role among participant, organiser, admin, found 'god'"):
        ledger.invite("god", world.user("admin"))


def test_a_forgotten_password_is_set_anew_once_by_a_link_and_all_sessions_end(world: World):
    host, anna, ledger = world.user("organiser"), world.user(), world.ledger
    session, token = (ledger.issue(kind, anna.id) for kind in ("session", "token"))
    old, secret = ledger.offer_renewal(anna.id, host), ledger.offer_renewal(anna.id, host)
    with pytest.raises(Refused, match="expected a password link that still works"):
        ledger.renew(old, "stolen")
    assert ledger.renew(secret, "new hash") == anna.id
    assert ledger.password(anna.email) == (anna.id, "new hash")
    assert [ledger.bearer(*each) for each in (("session", session), ("token", token))] == [None, None]
    with pytest.raises(Refused, match="still works"):
        ledger.renew(secret, "again")
    acts = [(act.user, act.action) for act in ledger.audit()]
    assert acts[:2] == [(anna.id, "set a new password by a link"), (host.id, "made a password link")]


def test_a_link_for_another_password_ends_after_a_day_and_with_another_role(world: World):
    admin, anna, ledger = world.user("admin"), world.user(), world.ledger
    early = ledger.offer_renewal(anna.id, world.user("organiser"))
    ledger.set_role(anna.id, "organiser", admin)
    late = ledger.offer_renewal(anna.id, admin)
    world.clock.now += RENEWAL_LASTS
    for secret in (early, late):
        with pytest.raises(Refused, match="still works"):
            ledger.renew(secret, "hash")


def test_who_may_make_a_link_for_whose_password(world: World):
    participant, organiser, admin = (world.user(role) for role in ("participant", "organiser", "admin"))
    for by, of_whom in ((participant, participant), (organiser, organiser), (organiser, admin)):
        with pytest.raises(Refused, match="expected an admin, or an organiser"):
            world.ledger.offer_renewal(of_whom.id, by)
    assert world.ledger.offer_renewal(admin.id, admin)


def test_a_link_makes_an_admin_once_and_ends_the_links_of_earlier_starts(world: World):
    ledger = world.ledger
    old, new = (ledger.issue("link", None, lasts=DAY) for _ in range(2))
    assert ledger.sign_up("host@example.org", "hash", invitation=new).role == "admin"
    with pytest.raises(Refused, match="not used before"):
        ledger.sign_up("eve@example.org", "hash", invitation=old)


def test_admins_give_roles_and_one_remains(world: World):
    admin, anna, ledger = world.user("admin"), world.user(), world.ledger
    with pytest.raises(Refused, match="expected an admin to remain"):
        ledger.set_role(admin.id, "participant", admin)
    with pytest.raises(Refused, match="expected an admin, found another account"):
        ledger.set_role(anna.id, "admin", anna)
    ledger.set_role(anna.id, "admin", admin)
    ledger.set_role(admin.id, "organiser", ledger.user(anna.id))
    assert [user.role for user in ledger.users()] == ["organiser", "admin"]


def test_secrets_end_and_are_stored_as_hashes(world: World):
    anna, ledger = world.user(), world.ledger
    token, session = ledger.issue("token", anna.id, name="laptop"), ledger.issue("session", anna.id, lasts=DAY)
    assert ledger.bearer("token", token) == ledger.bearer("session", session) == anna
    assert ledger.bearer("session", token) is None
    assert not any(secret in line for line in ledger.export() for secret in (token, session))
    world.clock.now += DAY
    assert (ledger.bearer("session", session), ledger.bearer("token", token)) == (None, anna)
    ledger.revoke(anna.id, ledger.tokens(anna.id)[0][0])
    assert ledger.bearer("token", token) is None


def test_another_password_ends_all_sessions_and_tokens_of_its_account(world: World):
    anna, ben, ledger = world.user(), world.user(), world.ledger
    secrets = {kind: ledger.issue(kind, anna.id, lasts=DAY) for kind in ("session", "token")}
    bens = ledger.issue("token", ben.id, lasts=DAY)
    ledger.set_password(anna.id, "other hash")
    assert [ledger.bearer(*secret) for secret in secrets.items()] == [None, None]
    assert ledger.bearer("token", bens) == ben
    assert ledger.password(anna.email) == (anna.id, "other hash")


def test_a_token_is_revoked_by_its_account_alone(world: World):
    anna, ben, ledger = world.user(), world.user(), world.ledger
    token = ledger.issue("token", anna.id, name="laptop")
    ((number, _),) = ledger.tokens(anna.id)
    with pytest.raises(Refused, match="expected a token of your account, found none") as refused:
        ledger.revoke(ben.id, number)
    assert refused.value.status == 404
    assert ledger.bearer("token", token) == anna


def test_an_account_is_in_one_team_and_a_name_is_of_one(world: World):
    anna, ben, ledger = world.team("Anna's"), world.user(), world.ledger
    for name, user, told in (("Anna's", ben, "expected a name unlike"), ("Other", anna, "expected an account without")):
        with pytest.raises(Refused, match=told):
            ledger.found(name, user.id)
    ledger.join(ledger.code(anna.team), ben.id)
    with pytest.raises(Refused, match="found one in a team already"):
        ledger.join(ledger.code(anna.team), ben.id)
    assert [(team.name, team.members) for team in ledger.teams()] == [("Anna's", (anna.email, ben.email))]


def test_a_team_is_not_larger_than_it_may_be(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    ledger.join(ledger.code(anna.team), world.user().id, most=2)
    with pytest.raises(Refused, match="expected a team of less than 2 members, found 2"):
        ledger.join(ledger.code(anna.team), world.user().id, most=2)


@pytest.mark.parametrize("name", ["<b>&'\"", "'; DROP TABLE users; --", "團隊 🌍", "a" * 60, "L’équipe"])
def test_names_of_any_kind_come_back_as_they_were(world: World, name):
    world.team(name)
    assert world.ledger.teams()[0].name == name


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_texts_that_postgresql_cannot_hold_are_refused_there(postgres, text):
    world = World(postgres.url())
    with pytest.raises(Refused, match="expected text and numbers that a database can hold"):
        world.ledger.announce(text, world.user("organiser"))


def test_a_name_is_kept_in_one_form_and_no_other_team_has_one_that_looks_like_it(world: World):
    world.team("  Wind\u00a0 &   Ｗeather ")
    assert world.ledger.teams()[0].name == "Wind & Weather"
    assert world.ledger.team("Wind &\u2003Weather") == 1
    for alike in ("wind & weather", "WIND&WEATHER", "Ｗｉｎｄ & Weather", "W\u0456nd & We\u0430ther", "Wind & Wеathеr"):
        with pytest.raises(
            Refused, match=r"expected a name unlike those of other teams, found .* beside 'Wind & Weath"
        ):
            world.team(alike)
    world.team("vector")
    for alike in ("νector", "VΕCTOR", "ѵector"):  # a small nu; a capital epsilon; a small izhitsa
        with pytest.raises(Refused, match="expected a name unlike those of other teams"):
            world.team(alike)
    for unlike in (
        "Wind & Whether",
        "Team Aix",
        "Team Alx",
        "Mail",
        "Mall",
        "Ball",
        "Bali",
        "Team 1",
        "Team 10",
        "Team 2",
    ):
        world.team(unlike)
    with pytest.raises(Refused, match="beside 'Mail'"):
        world.team("MAIL")
    with pytest.raises(Refused, match="beside 'Ball'"):  # with a capital I
        world.team("BaIl")
    with pytest.raises(Refused, match="found that of a team: 'wind&weather'"):
        world.ledger.reference("table", OPEN, "wind&weather", file=("a.csv", 9), sha256="0" * 64)


@pytest.mark.parametrize(
    "name",
    ["", " ", "\u00a0", "\u200b", "a\u200bb", "\u2060", "a\nb", "a\x1bb", "\u202eabc", "\u3164", "\u2800", "a\ufe0f",
     "...", "a" * 61, "ﷺ" * 10, "e" + "\u0301\u0302" * 4],
)  # fmt: skip
def test_names_that_cannot_be_seen_or_are_too_long_are_refused_and_told_what_is_allowed(sqlite, name):
    world = World(sqlite.url())
    with pytest.raises(Refused, match="expected a name of 1 to 60 characters on one line, with a letter") as refused:
        world.team(name)
    assert refused.value.status == 422
    assert world.ledger.teams() == []


def test_addresses_that_differ_in_case_or_width_are_one_and_hidden_characters_are_refused(sqlite):
    ledger = World(sqlite.url()).ledger
    ledger.sign_up("anna@example.org", "hash")
    for alike in ("ＡＮＮＡ@example.org", "Anna@EXAMPLE.org "):
        with pytest.raises(Refused, match="in use"):
            ledger.sign_up(alike, "hash")
    for bad in ("an\u200bna@example.org", "anna @example.org", "@example.org", "anna", "a@b.", "a" * 250 + "@b.org"):
        with pytest.raises(Refused, match="expected an e-mail address"):
            ledger.sign_up(bad, "hash")
