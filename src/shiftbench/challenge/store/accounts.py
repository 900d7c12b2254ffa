"""Who may do what: accounts, their secrets, invitations and teams."""

from __future__ import annotations

import hashlib
import secrets

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from shiftbench.challenge.store import names, schema
from shiftbench.challenge.store.database import Database
from shiftbench.challenge.store.records import INVITATION_LASTS, RENEWAL_LASTS, ROLES, Invitation, Refused, Team, User

LINK = "link"  # that makes the admin of a new server
RENEWAL = "renewal"  # that sets another password where the old one is forgotten


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _valid(kind: str, secret: str, now: int) -> ColumnElement[bool]:
    table = schema.secrets.c
    return (table.hash == digest(secret)) & (table.kind == kind) & or_(table.ends.is_(None), table.ends > now)


def _issue(
    c: Connection, kind: str, user: int | None, ends: int | None, *, name: str = "",
    role: str | None = None, email: str | None = None,
) -> str:  # fmt: skip
    secret = secrets.token_urlsafe(32)
    number = c.execute(select(func.coalesce(func.max(schema.secrets.c.number), 0) + 1)).scalar_one()
    row = {"kind": kind, "user": user, "ends": ends, "name": name, "number": number, "role": role, "email": email}
    c.execute(insert(schema.secrets).values(hash=digest(secret), **row))
    return secret


def _renewals(user: int) -> ColumnElement[bool]:
    return (schema.secrets.c.kind == RENEWAL) & (schema.secrets.c.user == user)


def _set_password(c: Connection, user: int, password: str) -> None:
    table = schema.secrets
    c.execute(update(schema.users).where(schema.users.c.id == user).values(password=password))
    c.execute(delete(table).where(table.c.kind.in_(("session", "token", RENEWAL)), table.c.user == user))


_USERS = (
    select(
        schema.users.c.id, schema.users.c.email, schema.users.c.role, schema.teams.c.id.label("team"),
        schema.teams.c.name.label("team_name"),
    )
    .select_from(schema.users)
    .outerjoin(schema.members, schema.members.c.user == schema.users.c.id)
    .outerjoin(schema.teams, schema.teams.c.id == schema.members.c.team)
)  # fmt: skip


def _require_new(c: Connection, name: str) -> None:
    """Refuse a name that looks like another's; writers come one at a time, so none slips in between."""
    for known in c.execute(select(schema.teams.c.name)).scalars():
        if names.alike(known, name):
            raise Refused(
                f"expected a name unlike those of other teams, found {name!r} beside {known!r}. Choose another."
            )


class Accounts(Database):
    """Accounts and teams."""

    def sign_up(self, email: str, password: str, *, role: str = "participant", invitation: str | None = None) -> User:
        """Add an account; `password` is a hash already. An invitation, or an admin's link, is spent and gives the role.

        Raises:
            Refused: if the address is in use, or the invitation is not valid for it; then it is not spent.
        """
        email = names.email(email)
        try:
            with self._writing() as (c, now):
                if invitation is not None:
                    role = self._accept(c, now, email, invitation)
                row = {"email": email, "password": password, "role": role, "made": now}
                user = c.execute(insert(schema.users).values(row).returning(schema.users.c.id)).scalar_one()
        except IntegrityError:
            raise Refused(f"expected a new address, found {email!r} in use. Sign in instead.") from None
        return self.user(user)

    def _accept(self, c: Connection, now: int, email: str, invitation: str) -> str:
        table = schema.secrets
        of_kind = or_(_valid("invitation", invitation, now), _valid(LINK, invitation, now))
        found = c.execute(delete(table).where(of_kind).returning(table.c.kind, table.c.role, table.c.email)).first()
        if found is None or (found.email is not None and found.email != email):
            raise Refused(
                "expected an invitation that was not used before, for this address. Ask for another.", status=403
            )
        if found.kind != LINK:
            return str(found.role)
        c.execute(delete(table).where(table.c.kind == LINK))  # the first admin ends the links of all earlier starts
        return "admin"

    def user(self, user: int) -> User:
        """The account of this number."""
        if not (found := self._rows(_USERS.where(schema.users.c.id == user))):
            raise Refused("expected an account that exists. Sign in again.", status=404)
        return User(**found[0]._mapping)

    def users(self) -> list[User]:
        """All accounts, in the order in which they were made."""
        return [User(**row._mapping) for row in self._rows(_USERS.order_by(schema.users.c.id))]

    def set_role(self, user: int, role: str, by: User) -> None:
        """Give an account a role, by an admin; one admin remains."""
        if role not in ROLES:
            raise Refused(f"expected a role among {', '.join(ROLES)}, found {role!r}.", status=422)
        if by.role != "admin":
            raise Refused("expected an admin, found another account. Ask one.", status=403)
        table = schema.users
        with self._writing() as (c, now):
            if not c.execute(update(table).where(table.c.id == user).values(role=role)).rowcount:
                raise Refused("expected an account that exists.", status=404)
            if not c.execute(select(func.count()).where(table.c.role == "admin")).scalar_one():
                raise Refused("expected an admin to remain, found none. Make another account admin first.")
            c.execute(delete(schema.secrets).where(_renewals(user)))  # were made by whom the role of before allowed
            self._note(c, now, by, "set a role", f"account {user}: {role}")

    def password(self, email: str) -> tuple[int, str] | None:
        """The number and the hash of the password of an account."""
        table = schema.users
        found = self._rows(select(table.c.id, table.c.password).where(table.c.email == names.email(email)))
        return (found[0].id, found[0].password) if found else None

    def set_password(self, user: int, password: str) -> None:
        """Store the hash of another password; all sessions and tokens of the account end."""
        with self._writing() as (c, _):
            _set_password(c, user, password)

    def offer_renewal(self, user: int, by: User) -> str:
        """A secret that sets another password of an account once, within a day; earlier ones end.

        Admins make it for anybody, organisers for participants: with it one can sign in as that account.
        """
        of_whom = self.user(user)
        if not by.organises or (of_whom.role != "participant" and by.role != "admin"):
            raise Refused("expected an admin, or an organiser for the account of a participant. Ask one.", status=403)
        with self._writing() as (c, now):
            c.execute(delete(schema.secrets).where(_renewals(user)))
            self._note(c, now, by, "made a password link", f"account {user}: {of_whom.email}")
            return _issue(c, RENEWAL, user, now + RENEWAL_LASTS)

    def renew(self, secret: str, password: str) -> int:
        """Store the hash of another password by such a secret, which is spent; returns the number of the account."""
        table = schema.secrets
        with self._writing() as (c, now):
            query = delete(table).where(_valid(RENEWAL, secret, now)).returning(table.c.user)
            if (user := c.execute(query).scalar()) is None:
                raise Refused(
                    "expected a password link that still works, found another. Ask for a new one.", status=403
                )
            _set_password(c, user, password)
            account = User(**c.execute(_USERS.where(schema.users.c.id == user)).one()._mapping)
            self._note(c, now, account, "set a new password by a link", f"account {user}")
        return int(user)

    # Secrets

    def issue(self, kind: str, user: int | None, *, lasts: int | None = None, name: str = "") -> str:
        """A new secret of a kind ("session", "token", "link"), returned once and stored as a hash."""
        with self._writing(quiet=True) as (c, now):
            return _issue(c, kind, user, None if lasts is None else now + lasts, name=name)

    def bearer(self, kind: str, secret: str) -> User | None:
        """Whose secret this is; None if it is unknown, ended or revoked."""
        seen = select(schema.clock.c.seen).scalar_subquery()
        with self._reading() as c:
            query = select(schema.secrets.c.user).where(_valid(kind, secret, self._moments.now()))
            ended = or_(schema.secrets.c.ends.is_(None), schema.secrets.c.ends > seen)
            found = c.execute(_USERS.where(schema.users.c.id == query.where(ended).scalar_subquery())).first()
        return User(**found._mapping) if found else None

    def offers(self, kind: str, secret: str) -> bool:
        """Whether a secret of a link is valid now; it is not spent."""
        return bool(self._rows(select(schema.secrets.c.hash).where(_valid(kind, secret, self._moments.now()))))

    def spend(self, kind: str, secret: str) -> bool:
        """Remove a secret; whether it was valid. Of two at once one alone succeeds."""
        with self._writing(quiet=True) as (c, now):
            spent = c.execute(delete(schema.secrets).where(_valid(kind, secret, now))).rowcount == 1
            if spent and kind == LINK:
                c.execute(delete(schema.secrets).where(schema.secrets.c.kind == LINK))
            return spent

    def has_admin(self) -> bool:
        """Whether anybody administers this server."""
        return bool(self._rows(select(schema.users.c.id).where(schema.users.c.role == "admin").limit(1)))

    def tokens(self, user: int) -> list[tuple[int, str]]:
        """Number and name of each token of an account."""
        table = schema.secrets.c
        query = select(table.number, table.name).where(table.kind == "token", table.user == user)
        return [(row.number, row.name) for row in self._rows(query.order_by(table.number))]

    def revoke(self, user: int, number: int) -> None:
        """End a token of an account.

        Raises:
            Refused: with status 404, if the account has none of this number.
        """
        table = schema.secrets
        ours = delete(table).where(table.c.kind == "token", table.c.user == user, table.c.number == number)
        with self._writing() as (c, _):
            if not c.execute(ours).rowcount:
                raise Refused("expected a token of your account, found none of this number.", status=404)

    def invite(self, role: str, by: User, email: str | None = None) -> str:
        """A secret that makes one account of a role, perhaps for one address alone; admins invite organisers."""
        if role not in ROLES:
            raise Refused(f"expected a role among {', '.join(ROLES)}, found {role!r}.", status=422)
        if not by.organises or (role != "participant" and by.role != "admin"):
            raise Refused("expected an admin to invite organisers, and one of both to invite others.", status=403)
        email = names.email(email) if email else None
        with self._writing() as (c, now):
            self._note(c, now, by, "invited", f"{email or 'anybody with the link'} as {role}")
            return _issue(c, "invitation", None, now + INVITATION_LASTS, role=role, email=email)

    def invitations(self) -> list[Invitation]:
        """Those that are not spent, revoked or over."""
        table = schema.secrets.c
        query = select(table.number, table.role, table.email, table.ends)
        query = query.where(table.kind == "invitation", table.ends > self._moments.now()).order_by(table.number)
        return [Invitation(**row._mapping) for row in self._rows(query)]

    def revoke_invitation(self, number: int, by: User) -> None:
        """End an invitation."""
        table = schema.secrets
        with self._writing() as (c, now):
            if not c.execute(delete(table).where(table.c.kind == "invitation", table.c.number == number)).rowcount:
                raise Refused("expected an invitation that was not used, found none of this number.", status=404)
            self._note(c, now, by, "revoked an invitation", f"number {number}")

    # Teams

    def found(self, name: str, user: int) -> str:
        """Make a team with this account as its first member; returns the code that others join with.

        Raises:
            Refused: if the name is no name, or looks like that of another team, or the account is in a team.
        """
        code, name = secrets.token_urlsafe(12), names.team(name)
        try:
            with self._writing() as (c, _):
                _require_new(c, name)
                made = insert(schema.teams).values(name=name, code=code).returning(schema.teams.c.id)
                c.execute(insert(schema.members).values(user=user, team=c.execute(made).scalar_one()))
        except IntegrityError:
            raise Refused("expected an account without a team, found one in a team already.") from None
        return code

    def join(self, code: str, user: int, *, most: int | None = None) -> None:
        """Join the team of this code, if it has less than `most` members."""
        try:
            with self._writing() as (c, _):
                if (team := c.execute(select(schema.teams.c.id).where(schema.teams.c.code == code)).scalar()) is None:
                    raise Refused("expected the code of a team, found another. Ask a member for it.")
                size = c.execute(select(func.count()).where(schema.members.c.team == team)).scalar_one()
                if most is not None and size >= most:
                    raise Refused(f"expected a team of less than {most} members, found {size}. Found another team.")
                c.execute(insert(schema.members).values(user=user, team=team))
        except IntegrityError:
            raise Refused("expected an account without a team, found one in a team already.") from None

    def code(self, team: int) -> str:
        """The code that others join a team with; for its members."""
        return str(self._rows(select(schema.teams.c.code).where(schema.teams.c.id == team))[0].code)

    def team(self, name: str) -> int:
        """The number of the team of this name."""
        if not (
            found := self._rows(select(schema.teams.c.id).where(schema.teams.c.name.in_((name, names.plain(name)))))
        ):
            raise Refused(f"expected the name of a team, found {name!r}. Correct it.", status=404)
        return int(found[0].id)

    def teams(self) -> list[Team]:
        """All teams with the addresses of their members, for organisers, who see second accounts by them."""
        table = schema.teams
        addresses: dict[int, tuple[str, ...]] = {}
        with self._reading() as c:
            found = c.execute(select(table).order_by(table.c.id)).all()
            joined = schema.members.join(schema.users, schema.members.c.user == schema.users.c.id)
            pairs = select(schema.members.c.team, schema.users.c.email).select_from(joined).order_by(schema.users.c.id)
            for team, email in c.execute(pairs):
                addresses[team] = (*addresses.get(team, ()), email)
        return [Team(r.id, r.name, addresses.get(r.id, ()), r.reference, r.disqualified) for r in found]
