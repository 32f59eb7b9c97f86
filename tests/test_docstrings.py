"""Every public name says what it takes, gives and raises, in numpydoc, with an example that runs."""

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from spnmkl.kernels import registry

PUBLIC = [
    "spnmkl",
    "spnmkl.structure",
    "spnmkl.structure.templates",
    "spnmkl.kernels",
    "spnmkl.solvers",
    "spnmkl.solution",
    "spnmkl.selection",
    "spnmkl.data.preparer",
    "spnmkl.estimator",
    "spnmkl.model_file",
    "spnmkl.inspection",
    "spnmkl.importance",
    "spnmkl.baselines",
    "spnmkl.export",
    "spnmkl.charts",
    "spnmkl.errors",
]
SECTIONS = ["Parameters", "Attributes", "Returns", "Raises", "Examples"]


def documented() -> dict[str, Any]:
    """Every function and class of the public modules, by where it is at home, each once."""
    found: dict[str, Any] = {}
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that a class itself defines and that a user may call."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and "." not in name:
            member = getattr(member, "__func__", getattr(member, "fn", member))
            if inspect.isfunction(member) or isinstance(member, property) or hasattr(member, "attrname"):
                yield f"{cls.__module__}.{cls.__qualname__}.{name}", member


NAMES = documented()
CLASSES = {name: thing for name, thing in NAMES.items() if inspect.isclass(thing)}
METHODS = {name: member for cls in CLASSES.values() for name, member in methods(cls)}
FUNCTIONS = {name: thing for name, thing in NAMES.items() if name not in CLASSES}


def sections(thing: Any) -> dict[str, list[str]]:
    """The lines of every section, that of the summary under the empty name."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            name = line
            found[name] = []
        elif not (line and set(line) == {"-"}):
            found[name].append(line)
    return found


def entries(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Name → type and description; a line of several names gives the same to each."""
    found: dict[str, tuple[str, str]] = {}
    names: list[str] = []
    for line in lines:
        if line and not line.startswith(" "):
            left, _, kind = line.partition(" : ")
            names = [name.strip().lstrip("*") for name in left.split(",")]
            found |= dict.fromkeys(names, (kind, ""))
        else:
            found |= {name: (found[name][0], f"{found[name][1]} {line}".strip()) for name in names}
    return found


def check_summary(name: str, thing: Any) -> dict[str, list[str]]:
    found = sections(thing)
    first = found[""][0] if found[""] else ""
    assert first.rstrip().endswith((".", "!", "?")), f"{name} needs a summary, one line that ends with a full stop"
    assert len(found[""]) == 1 or not found[""][1], f"{name}: the summary is one line, then an empty one"
    unknown = set(found) - {"", *SECTIONS}
    assert not unknown, f"{name} has sections that are none of ours: {unknown}"
    order = [section for section in found if section]
    assert order == [section for section in SECTIONS if section in order], f"{name}: the order is {SECTIONS}"
    return found


def check_parameters(name: str, thing: Any, lines: list[str]) -> None:
    told = entries(lines)
    wanted = [p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]
    assert list(told) == [p.name for p in wanted], f"{name} tells of the parameters {list(told)}"
    for parameter in wanted:
        kind, text = told[parameter.name]
        assert kind, f"{name}: {parameter.name} has no type"
        assert text.endswith((".", "…", '"')), f"{name}: {parameter.name} has no sentence"
        optional = parameter.default is not inspect.Parameter.empty
        assert optional == ("default=" in kind), f"{name}: {parameter.name} and its default"


def check_returns(name: str, thing: Any, found: dict[str, list[str]]) -> None:
    gives = inspect.signature(thing).return_annotation not in ("None", None, inspect.Signature.empty)
    assert gives == ("Returns" in found), f"{name}: what it returns"
    if gives:
        assert re.search(r"\n    \S", "\n".join(found["Returns"])), f"{name}: the return value has no description"


def check_example(name: str, found: dict[str, list[str]]) -> None:
    assert any(line.startswith(">>>") for line in found.get("Examples", [])), f"{name} has no example"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    thing = FUNCTIONS[name]
    found = check_summary(name, thing)
    check_parameters(name, thing, found.get("Parameters", []))
    check_returns(name, thing, found)
    check_example(name, found)


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    cls = CLASSES[name]
    found = check_summary(name, cls)
    check_example(name, found)
    if not issubclass(cls, Exception) and not getattr(cls, "_is_protocol", False):
        told = "Parameters" if "Parameters" in found else "Attributes"
        fields = entries(found.get(told, []))
        if told == "Parameters":
            check_parameters(name, cls, found["Parameters"])
        else:
            assert set(inspect.signature(cls).parameters) <= set(fields), f"{name} tells of {list(fields)}"
            assert all(kind and text for kind, text in fields.values()), f"{name}: types and sentences"


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    member = METHODS[name]
    found = check_summary(name, member)
    if inspect.isfunction(member):
        check_parameters(name, member, found.get("Parameters", []))
        check_returns(name, member, found)


HOMES = sorted({thing.__module__ for thing in NAMES.values()})


@pytest.mark.parametrize("home", HOMES)
def test_examples_run(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with nothing defined before, as who copies it has it; a kernel registered here is forgotten."""
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))
    ran = 0
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(home), globs={}):
        result = doctest.DocTestRunner(verbose=False).run(example)
        assert result.failed == 0, example.name
        ran += result.attempted
    assert ran


@pytest.mark.parametrize("module", PUBLIC)
def test_all_is_sorted_and_true(module: str) -> None:
    found = importlib.import_module(module)
    assert len(found.__all__) == len(set(found.__all__))
    assert all(hasattr(found, name) for name in found.__all__)
    assert (found.__doc__ or "").strip()
