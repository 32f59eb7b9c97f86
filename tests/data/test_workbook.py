"""Workbooks are read as openpyxl reads them, in one pass; what is malformed is refused."""

import datetime as dt
import io
import re
import warnings
import zipfile
from collections.abc import Callable

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.utils.datetime import MAC_EPOCH

from spnmkl.data import read_file, workbook
from spnmkl.data.workbook import Workbook
from spnmkl.errors import DataError

SHEET = "xl/worksheets/sheet1.xml"
DAMAGED = r"^The file 't\.xlsx' is damaged or cut short; save or copy the workbook again\.$"
ROWS = [
    ["name", "n", "when", None, "long"],
    ["a & <b>", 1, dt.datetime(2020, 2, 29, 12, 30), None, dt.timedelta(hours=30)],
    [None, -1.5e-7, dt.date(1900, 1, 1), None, None],
    ["", True, dt.time(23, 59), None, "x" * 3000],
    ["_x005F_", 10**15, dt.datetime(9999, 12, 31), None, " spaces "],
    [None],
    ["=1+1", "#N/A", False, None, "ä\u3042\U0001f600"],
]


def book(write_only: bool, base: dt.datetime | None = None) -> bytes:
    """Texts stand beside the sheet, and in its cells where it is written in one go."""
    found = openpyxl.Workbook(write_only=write_only)
    if base is not None:
        found.epoch = base
    sheet = found.create_sheet("values", 0)
    for row in ROWS:
        sheet.append(row)
    if not write_only:
        sheet["H20"] = CellRichText("plain ", TextBlock(InlineFont(b=True), "bold"), " end")
        sheet["I20"] = 43_831.5
        sheet["I20"].number_format = "[hh]:mm:ss"
        sheet["J20"] = 43_831.5
        sheet["J20"].number_format = 'yyyy"-"mm'
        sheet["K20"] = 1e12
        sheet["K20"].number_format = "yyyy-mm-dd"
    found.create_sheet("empty")
    file = io.BytesIO()
    found.save(file)
    return file.getvalue()


def test_formulas_without_a_saved_result_are_told_by_column() -> None:
    made = openpyxl.Workbook()
    for row in (["id", "x", "bmi"], ["a", 1, "=B2*2"], ["b", 2, "=B3*2"], ["c", "=1+1", 5]):
        made.active.append(row)
    file = io.BytesIO()
    made.save(file)
    table = read_file("t.xlsx", file.getvalue())
    assert table.frame["bmi"].isna().tolist() == [True, True, False] and table.frame["x"].isna().sum() == 1
    assert table.notes[0] == (
        "3 cells with a formula whose result is not saved in the file, in column B 'x' (1), C 'bmi' (2): counted as "
        "missing. Open the workbook once in a spreadsheet program and save it: then it has the results."
    )
    with_results = changed(file.getvalue(), SHEET, lambda text: re.sub(r"</f><v ?/>|</f><v></v>", "</f><v>7</v>", text))
    table = read_file("t.xlsx", with_results)
    assert table.frame["bmi"].tolist() == [7, 7, 5] and not table.notes
    empty = changed(
        file.getvalue(), SHEET, lambda text: re.sub(r'(<c r="\w+")( t="\w+")?><f>', r'\1 t="str"><f>', text)
    )
    assert not any("formula" in note for note in read_file("t.xlsx", empty).notes), "an empty text is a result"


def changed(data: bytes, part: str, change: Callable[[str], str], encoding: str = "utf-8") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as good, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as other:
        for member in good.namelist():
            text = good.read(member)
            other.writestr(member, change(text.decode()).encode(encoding) if member == part else text)
    return file.getvalue()


def with_rows(xml: str, encoding: str = "utf-8", head: str = "") -> bytes:
    """A sheet of those rows."""

    def change(text: str) -> str:
        return head + re.sub(r"<sheetData.*(</sheetData>|/>)", f"<sheetData>{xml}</sheetData>", text, count=1)

    plain = openpyxl.Workbook()
    file = io.BytesIO()
    plain.save(file)
    return changed(file.getvalue(), SHEET, change, encoding)


def by_openpyxl(data: bytes, title: str) -> list[list[object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        found[title].reset_dimensions()
        rows = [list(row) for row in found[title].iter_rows(values_only=True)]
    rows = [row for row in rows if any(value is not None for value in row)]
    width = max((k for row in rows for k, value in enumerate(row, 1) if value is not None), default=0)
    return [(row + [None] * width)[:width] for row in rows]


@pytest.mark.parametrize("write_only", [False, True])
@pytest.mark.parametrize("base", [None, MAC_EPOCH])
def test_values_are_those_of_openpyxl(write_only: bool, base: dt.datetime | None) -> None:
    rows = ROWS if base is None else ROWS[:2]
    data = book(write_only, base)
    found = Workbook("t.xlsx", data)
    assert next(iter(found.sheets)) == "values" and found.rows("empty") == []
    told = found.rows("values")
    assert told == by_openpyxl(data, "values")
    assert [type(value) for value in told[1][:5]] == [str, int, dt.datetime, type(None), dt.timedelta]
    assert told[1][:3] == rows[1][:3]
    if not write_only:
        assert told[-1][7] == "plain bold end" and told[-1][10] == "#VALUE!"


KINDS = (
    '<row r="2"><c r="A2" t="str"><f>B2</f><v>of a formula</v></c><c r="C2"><v>1</v></c></row>'
    '<row r="5"><c><v>2</v></c><c t="b"><v>1</v></c><c r="ab5" t="e"><v>#DIV/0!</v></c><c><v>3E2</v></c></row>'
    '<row><c t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>spoken</t></rPh><r><t>b</t></r></is></c><c t="s"/></row>'
    '<row r="9"><c r="B9" t="d"><v>2021-03-04T05:06:07</v></c><c r="A9" t="inlineStr"/><c r="C9"><v/></c></row>'
    '<row r="10"/><row r="11"><c r="A11" t="n"><v> 7 </v></c></row>'
)


def test_every_kind_of_cell_as_openpyxl_reads_it() -> None:
    data = with_rows(KINDS)
    found = Workbook("t.xlsx", data)
    (title,) = found.sheets
    assert found.rows(title) == by_openpyxl(data, title)
    prefixed = changed(data, SHEET, lambda text: re.sub(r"<(/?)(\w)", r"<\1x:\2", text).replace("xmlns=", "xmlns:x="))
    assert Workbook("t.xlsx", prefixed).rows(title) == found.rows(title)


@pytest.mark.parametrize(
    "xml",
    [
        "<row><c><v>word</v></c></row>",
        '<row><c t="s"><v>0</v></c></row>',
        '<row><c r="ABCD1"><v>1</v></c></row>',
        '<row><c r="1"><v>1</v></c></row>',
        '<row><c r="A"><v>1</v></c></row>',
        '<row><c t="b"><v>x</v></c></row>',
        "<row><c><v>1</v></row>",
    ],
)
def test_cells_that_cannot_be_are_refused(xml: str) -> None:
    with pytest.raises(DataError, match=DAMAGED):
        read_file("t.xlsx", with_rows(xml))


def test_utf_16_is_read_and_letters_of_other_machines_are_not() -> None:
    rows = '<row><c t="str"><v>a</v></c></row><row><c><v>1</v></c></row>'
    read = read_file("t.xlsx", with_rows(rows, "utf-16", '<?xml version="1.0" encoding="utf-16"?>'))
    assert read.frame["a"].tolist() == [1]
    data = with_rows(rows, "cp1252", '<?xml version="1.0" encoding="cp1252"?>')
    with pytest.raises(DataError, match=DAMAGED):
        read_file("t.xlsx", data)


def test_entities_in_a_part_that_nobody_reads_unfold_nowhere() -> None:
    head = '<!DOCTYPE x [<!ENTITY a "aa">]>'
    data = changed(book(False), "[Content_Types].xml", lambda text: head + re.sub(r"^<\?xml.*?\?>", "", text))
    assert len(Workbook("t.xlsx", data).rows("values")) == 7


def test_the_workbook_stands_where_the_file_says() -> None:
    """Some programs write xl/workbook2.xml."""
    data, file = book(False), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as good, zipfile.ZipFile(file, "w") as other:
        for member in good.namelist():
            text = good.read(member)
            if member in ("_rels/.rels", "[Content_Types].xml"):
                text = text.replace(b"workbook.xml", b"workbook2.xml")
            other.writestr(member.replace("workbook.xml", "workbook2.xml"), text)
    moved = file.getvalue()
    found = Workbook("t.xlsx", moved).rows("values")
    assert found == Workbook("t.xlsx", data).rows("values") == by_openpyxl(moved, "values")


def test_too_many_cells_are_refused_before_any_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MAX_CELLS", 1000)
    broken = "</row>" + '<row><c r="A1" t="n"/><c/><c t="b"><v>1</v></c></row>' * 334
    with pytest.raises(DataError, match=r"^The workbook 't\.xlsx' has more than 1,000 cells; save the sheet as CSV\.$"):
        read_file("t.xlsx", with_rows(broken))
    with pytest.raises(DataError, match=DAMAGED):
        read_file("t.xlsx", with_rows(broken.replace("<c/>", "", 2)))
