"""Doors of the app that stay closed: links in names of others, formulas in exports, another's workspace."""

import io
import re
from types import SimpleNamespace

import pandas as pd
import pytest

from spnmkl.data.guarded import guarded_csv
from spnmkl.ui.parts import session
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.store import Store

# What GitHub's Markdown, which Streamlit renders, makes a link of without being asked.
BARE = re.compile(r"(?i)(https?://|ftp://|www\.)[-.\w]+|[-.\w+]+@[-\w]+(\.[-\w]+)+|(mailto|xmpp):\S+@")
SHOWN = str.maketrans("", "", "\\\u2060")


@pytest.mark.parametrize(
    "name",
    [
        "http://evil.example/a",
        "see HTTPS://evil.example?q=1#x",
        "www.evil.example",
        "a,WWW.evil.example;b",
        "me@evil.example",
        "mailto:me@evil.example",
        "xmpp:me@evil.example/x",
        "ftp://evil.example",
    ],
)
def test_addresses_in_names_do_not_become_links(name: str) -> None:
    assert BARE.search(name)
    assert not BARE.search(plain(name).replace("\\", ""))
    assert plain(name).translate(SHOWN) == name  # and look as they are written


@pytest.mark.parametrize("name", [":material/home:", "a :streamlit: b", "about ~= 3", "&amp; &lt;b&gt;"])
def test_signs_in_names_become_no_other_signs(name: str) -> None:
    found = re.sub(r"\\(?=[^\w\s])", "", plain(name))  # escaped or not, Streamlit makes pictures of the first ones
    assert not re.search(r":material/|:streamlit:|~=", found) and not re.search(r"(?<!\\)&", plain(name))
    assert plain(name).translate(SHOWN) == name


def test_names_begin_no_lines_and_turn_nothing_around() -> None:
    assert plain("a\n\n1. b\r\n\tc\u202ed\u2028e") == "a  1. b   c d e"


@pytest.mark.parametrize("name", ["temperature (°C)", "a@", "@b", "x_1*y", "wwwords", "http", "3:1"])
def test_other_names_are_left_alone(name: str) -> None:
    assert "\u2060" not in plain(name) and plain(name).translate(SHOWN) == name


def test_exports_hold_no_formulas() -> None:
    table = pd.DataFrame(
        {
            "=cmd|' /C calc'!A0": ["=1+1", "+2", "-x", "@SUM(A1)", "\tx", "\rx", "plain", None],
            "n": [-1.5, 2, -3, 4, 5, 6, 7, None],
            "t": ["-1.5", "+2e3", "3", "-", "a=b", "'q", "", "é"],
        }
    )
    read = pd.read_csv(io.StringIO(guarded_csv(table)), keep_default_na=False, dtype=str, lineterminator="\n")
    assert list(read) == ["'=cmd|' /C calc'!A0", "n", "t"]
    assert read.iloc[:, 0].tolist() == ["'=1+1", "+2", "'-x", "'@SUM(A1)", "'\tx", "'\rx", "plain", ""]
    assert read["n"].tolist() == ["-1.5", "2.0", "-3.0", "4.0", "5.0", "6.0", "7.0", ""]
    assert read["t"].tolist() == ["-1.5", "+2e3", "3", "-", "a=b", "'q", "", "é"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x;=cmd|' /C calc'!A0", "x;'=cmd|' /C calc'!A0"),  # a German spreadsheet begins a new cell there
        ("1;2;-3;@a", "1;2;'-3;'@a"),
        ("a\t=1+1", "a\t'=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\n=1+1", "'\n=1+1"),
        ("a; b = c", "a; b = c"),
        ("a;-", "a;-"),
    ],
)
def test_formulas_behind_other_separators_are_guarded_too(text: str, written: str) -> None:
    read = pd.read_csv(io.StringIO(guarded_csv(pd.DataFrame({"a": [text]}))), lineterminator="\n")
    assert read["a"].tolist() == [written]


def test_a_table_without_formulas_is_written_as_pandas_does() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x, y", None], "c": [True, False]}, index=[5, 7])
    assert guarded_csv(table) == table.to_csv(index=False)
    twice = pd.DataFrame([[1, "=x"]], columns=["a", "a"])
    assert guarded_csv(twice) == "a,a\n1,'=x\n"


def cookie(secret: bytes, mask: bytes) -> str:
    """As the server writes it, masked anew at each visit."""
    masked = bytes(byte ^ mask[k % 4] for k, byte in enumerate(secret))
    return f"2|{mask.hex()}|{masked.hex()}|1700000000"


def test_a_token_is_not_enough_while_its_owner_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def browser(value: str | None) -> str:
        cookies = {} if value is None else {"_streamlit_xsrf": value}
        monkeypatch.setattr(session, "st", SimpleNamespace(context=SimpleNamespace(cookies=cookies)))
        return session._browser()

    store, token = Store(), "a" * 32
    mine = browser(cookie(b"secret of mine..", b"abcd"))
    store.put(token, None, "session", mine)  # type: ignore[arg-type]
    assert mine and store.same_browser(token, browser(cookie(b"secret of mine..", b"wxyz")))
    for other in (cookie(b"another's secret", b"abcd"), None, "", "2||", "2||ff|1", "2|zz|ff|1", "x" * 1000):
        assert not store.same_browser(token, browser(other)), other
    assert not store.same_browser("b" * 32, mine)
    store.put(token, None, "session", browser(None))  # type: ignore[arg-type]
    assert not store.same_browser(token, browser(None))
