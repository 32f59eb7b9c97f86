"""Who has logged in, what they share with each other, and how much each of them keeps."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection, delete, func, insert, select, update

from spnmkl.errors import ParameterError
from spnmkl.structure.text import one_line
from spnmkl.wording import quoted
from spnmkl.workspace.audit import note
from spnmkl.workspace.database import Database
from spnmkl.workspace.quotas import Purse, Usage
from spnmkl.workspace.tables import LOGIN, PERSON, PROJECT, RUN

MOST_LETTERS = 120  # of a name or an address
LOGIN_SECONDS = 60 * 86_400.0  # for which a login is remembered; its cookie holds half as long


@dataclass(frozen=True)
class Person:
    """Somebody who has logged in.

    Attributes
    ----------
    id : a digest of the claims `iss` and `sub`: the provider promises that they stay, and are of nobody else.
    name : what is shown.
    mail : an address that the provider has verified, or nothing.
    login : a digest of all claims, which differ from login to login.
    """

    id: str
    name: str
    mail: str = ""
    login: str = ""

    @classmethod
    def of_claims(cls, claims: Mapping[str, Any]) -> Self:
        """The person of an id token that was verified."""
        issuer, subject = claims.get("iss"), claims.get("sub")
        if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
            raise ParameterError(
                "The provider of the login names nobody: its id token needs the claims 'iss' and 'sub'; "
                "look at server_metadata_url in the secrets."
            )
        mail = _shown(claims.get("email")) if claims.get("email_verified") is True else ""
        name = (
            _shown(claims.get("name"))
            or _shown(claims.get("preferred_username"))
            or mail
            or one_line(subject)[:MOST_LETTERS]
        )
        plain = {key: value for key, value in claims.items() if isinstance(value, str | int | float | bool)}
        return cls(_digest(issuer, subject), name, mail, _digest(json.dumps(plain, sort_keys=True)))


@dataclass(frozen=True)
class Member:
    """What an administrator sees of somebody who has logged in, or of a visitor, who has no name."""

    id: str
    name: str
    last: float
    n_projects: int
    n_runs: int
    usage: Usage


class People:
    """Those who have logged in."""

    def __init__(self, database: Database, purse: Purse) -> None:
        self._database, self._purse = database, purse

    def arrive(self, person: Person) -> bool:
        """Somebody is here with a login; False where that login has ended. The first time, it is noted."""
        if (known := self._known(person)) is not None:
            return known
        now = time.time()
        with self._database.writing() as connection:
            mine, values = PERSON.c.id == person.id, {"name": person.name, "mail": person.mail, "last": now}
            if not connection.execute(update(PERSON).where(mine).values(**values)).rowcount:
                connection.execute(insert(PERSON).values(id=person.id, first=now, **values))
            found = connection.execute(select(LOGIN.c.ended).where(LOGIN.c.digest == person.login)).first()
            if found is None:
                connection.execute(insert(LOGIN).values(digest=person.login, person=person.id, began=now))
                note(connection, person.id, "login")
            return found is None or found[0] is None

    def goes_on(self, person: Person) -> bool:
        """Whether nobody has ended a login."""
        return self._known(person) is not False

    def _known(self, person: Person) -> bool | None:
        """Whether the login goes on; None where it was never seen."""
        asked = select(LOGIN.c.ended).where((LOGIN.c.digest == person.login) & (LOGIN.c.person == person.id))
        with self._database.reading() as connection:
            found = connection.execute(asked).first()
        return None if found is None else found[0] is None

    def leave(self, person: Person) -> None:
        """End a login, for every tab and for whoever has its cookie."""
        mine = (LOGIN.c.digest == person.login) & LOGIN.c.ended.is_(None)
        with self._database.writing() as connection:
            if connection.execute(update(LOGIN).where(mine).values(ended=time.time())).rowcount:
                note(connection, person.id, "logout")

    def named(self, given: str) -> Person:
        """The person of that id or verified address, who has logged in here."""
        word = given.strip()
        column = PERSON.c.mail if "@" in word else PERSON.c.id
        with self._database.reading() as connection:
            found = connection.execute(select(PERSON).where(column == word).limit(2)).mappings().all()
        if word and len(found) == 1:
            return Person(found[0]["id"], found[0]["name"], found[0]["mail"])
        raise ParameterError(
            f"Nobody of the address or id {quoted(word[:MOST_LETTERS])} has logged in here; ask for the id that stands "
            "under their name in the upper right corner."
        )

    def members(self) -> list[Member]:
        """Everybody who has logged in or keeps a project here, who was here last first."""
        kept = select(PROJECT.c.owner, func.count(), func.max(PROJECT.c.changed)).where(PROJECT.c.owner != "")
        runs = select(PROJECT.c.owner, func.count()).join(RUN, RUN.c.project == PROJECT.c.id)
        with self._database.reading() as connection:
            known = {row["id"]: row for row in connection.execute(select(PERSON)).mappings()}
            projects = {row[0]: (row[1], row[2]) for row in connection.execute(kept.group_by(PROJECT.c.owner))}
            n_runs = {row[0]: row[1] for row in connection.execute(runs.group_by(PROJECT.c.owner))}
        found = []
        for id in {*known, *projects}:
            n_projects, changed = projects.get(id, (0, 0.0))
            name, last = (known[id]["name"], known[id]["last"]) if id in known else ("", 0.0)
            usage = self._purse.usage(id)
            found.append(Member(id, name, max(last, changed), n_projects, n_runs.get(id, 0), usage))
        return sorted(found, key=lambda member: -member.last)

    def names(self) -> dict[str, str]:
        """What is shown of everybody, by id."""
        with self._database.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(select(PERSON.c.id, PERSON.c.name))}


def forget_logins(connection: Connection, now: float) -> None:
    """Those whose cookies are long gone."""
    connection.execute(delete(LOGIN).where(LOGIN.c.began < now - LOGIN_SECONDS))


def _shown(value: object) -> str:
    """Nothing where no letter of it can be seen."""
    text = one_line(value)[:MOST_LETTERS] if isinstance(value, str) else ""
    return text if any(letter.isprintable() for letter in text if letter != " ") else ""


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
