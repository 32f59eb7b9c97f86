"""Who works here, and how much of what one person may keep is used; nothing on the own machine."""

from __future__ import annotations

import streamlit as st

from spnmkl.ui.parts import login
from spnmkl.ui.parts.session import guarded, keeper, log_out, owner, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.workspace.quotas import Quotas, Usage


def account() -> None:
    """In the upper right corner of every page of a server for others."""
    if not owner():
        return
    person = login.person()
    name = "Visitor" if person is None else person.name
    with (
        st.container(key="account"),
        st.popover(plain(name[:24]), icon=":material/account_circle:", key="account_open", on_change="rerun") as opened,
    ):
        if opened.open:
            _shown()


def _shown() -> None:
    person = login.person()
    if person is None:
        st.markdown("**Visitor.** Nobody logs in here: your work belongs to this tab, in this browser.")
    else:
        mail = f"  \n{plain(person.mail)}" if person.mail else ""
        st.markdown(f"**{plain(person.name)}**{mail}")
        st.caption("Your id, which others need to share with you:")
        st.code(person.id, language=None, wrap_lines=True)
    disk = keeper().disk()
    n_nodes = len(workspace().drawing.spn.nodes)
    for line in usage_lines(disk.purse.usage(owner()), disk.purse.quotas, n_nodes):
        st.markdown(f":small[{line}]")
    if person is not None:
        st.button("Log out", icon=":material/logout:", key="log_out", on_click=guarded(log_out), width="stretch")


def usage_lines(usage: Usage, quotas: Quotas, n_nodes: int) -> list[str]:
    """What is used of each quota, in words."""
    return [
        f"Kept, with the bin: {gigabytes(usage.bytes)}{_of(gigabytes, quotas.bytes)}",
        f"Rows of your data: {usage.rows:,}{_of('{:,}'.format, quotas.rows)}",
        f"Nodes of this drawing: {n_nodes:,}{_of('{:,}'.format, quotas.nodes)}",
        f"Trainings at once: {'as many as there is room for' if not quotas.trainings else quotas.trainings}",
    ]


def gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _of(written: object, limit: int) -> str:
    return f" of {written(limit)}" if limit and callable(written) else ""
