"""The administrator's page: who uses the server and how much, what is going on, and the log."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime

import pandas as pd
import streamlit as st

from spnmkl.data.guarded import guarded_csv
from spnmkl.errors import ParameterError
from spnmkl.structure.text import shortened
from spnmkl.ui.parts import login
from spnmkl.ui.parts.account import gigabytes
from spnmkl.ui.parts.session import fragment, guarded, heading, keeper, owner, tabs
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state import jobs
from spnmkl.wording import counted
from spnmkl.workspace.audit import KEPT_SECONDS, Event
from spnmkl.workspace.people import Member
from spnmkl.workspace.store import WorkspaceStore

ALL = "all"
DAYS = {"today": 1, "the last 7 days": 7, "the last 30 days": 30, "everything that is kept": 0}
LOOK_SECONDS = 2.0
MOST_LETTERS = 40  # of a name


def administration_page() -> None:
    if not login.administers():  # whoever comes here by an address
        raise ParameterError("This page is for those whom the owner of the server has named.")
    heading("Administration — who uses this server, and what was done")
    disk = keeper().disk()
    tabs(
        "administration",
        {"People": lambda: people(disk), "What is going on": going_on, "The log": lambda: log(disk)},
    )


def people(disk: WorkspaceStore) -> None:
    found, quotas = disk.people.members(), disk.purse.quotas
    running = disk.admission.elsewhere() + Counter(job.person for job in jobs.going_on())
    table = pd.DataFrame(
        {
            "who": [shown(member) for member in found],
            "kept": [gigabytes(member.usage.bytes) for member in found],
            "rows": [member.usage.rows for member in found],
            "projects": [member.n_projects for member in found],
            "runs": [member.n_runs for member in found],
            "jobs now": [running[member.id] for member in found],
            "last here": [when(member.last) for member in found],
            "id": [member.id for member in found],
        }
    )
    st.dataframe(table, hide_index=True, column_config={"rows": st.column_config.NumberColumn(format="localized")})
    said = ", ".join(
        f"{name} {written(limit) if limit else 'no limit'}"
        for name, limit, written in (
            ("bytes", quotas.bytes, gigabytes),
            ("rows", quotas.rows, "{:,}".format),
            ("nodes of a drawing", quotas.nodes, "{:,}".format),
            ("trainings at once", quotas.trainings, str),
        )
    )
    st.caption(f"Quotas of one person: {said}. They are set where the server is started.")


@st.fragment(run_every=LOOK_SECONDS)
def going_on() -> None:
    if not login.administers():
        st.rerun()
    found, disk = jobs.going_on(), keeper().disk()
    names, others = disk.people.names(), disk.admission.elsewhere().total()
    if not found:
        st.info("Nothing is being computed on this server.")
    for k, job in enumerate(found):
        with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"job_{k}"):
            state = f"{job.seconds:,.0f} s" if job.state == "running" else "waits"
            aside = ", by itself" if job.aside else ""
            who, what = plain(called(job.person, names.get(job.person, ""))), plain(job.kind or "scores over folds")
            st.markdown(f"**{who}**: {what}{aside}, {state}")
            st.button("Stop it", key=f"stop_{id(job)}", on_click=guarded(stop), args=(job,), disabled=job.stopping)
    if others:
        st.caption(f"{counted(others, 'job')} more on other servers of this workspace, which show and stop their own.")


def stop(job: jobs.Job[object]) -> None:
    if login.administers():
        job.stop()
        keeper().disk().audit.note(owner(), "stopped a job", of=job.person, kind=job.kind)


@fragment
def log_lines(disk: WorkspaceStore) -> None:
    if not login.administers():
        st.rerun()
    by, kind, since = st.columns(3)
    everything = disk.audit.read()
    names = {event.who: event.name for event in everything}
    who = by.selectbox("Who", [ALL, *names], format_func=lambda id: id if id == ALL else called(id, names[id]))
    what = kind.selectbox("What", [ALL, *sorted({event.what for event in everything})])
    days = DAYS[since.selectbox("Since", list(DAYS), index=1)]
    begin = time.time() - 86_400 * days if days else 0.0
    found = disk.audit.read(who="" if who == ALL else who, what="" if what == ALL else what, since=begin)
    table = lines(found)
    st.dataframe(table, hide_index=True, height=420)
    if st.download_button(
        f"Export these {len(found):,} lines as CSV",
        guarded_csv(table),
        "audit.csv",
        "text/csv",
        icon=":material/download:",
        disabled=not found,
    ):
        disk.audit.note(owner(), "exported the log", lines=len(found))
    st.caption(f"Lines are kept for {KEPT_SECONDS / 86_400:.0f} days; nobody can change one, or remove it before that.")


def log(disk: WorkspaceStore) -> None:
    log_lines(disk)


def lines(found: list[Event]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "when": [when(event.at) for event in found],
            "who": [called(event.who, event.name) for event in found],
            "what": [event.what for event in found],
            "about": [", ".join(f"{name} {value}" for name, value in event.about.items()) for event in found],
        }
    )


def shown(member: Member) -> str:
    return called(member.id, member.name)


def called(id: str, name: str) -> str:
    """People choose their names, also those of others; the beginning of an id tells them apart."""
    return f"{shortened(name, MOST_LETTERS) or 'visitor'} ({id[:8]})" if id else "a visitor"


def when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S") if seconds else ""
