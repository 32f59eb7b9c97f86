"""The directive `commands`: the command line as its own parser describes it."""

import argparse
from textwrap import dedent
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from spnmkl.cli.arguments import command_parser


class Commands(SphinxDirective):
    """A section for every command: its usage, its options, its exit codes."""

    def run(self) -> list[nodes.Node]:
        return [_section(name, sub, self.state.document) for name, sub in _commands(command_parser()).items()]


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def _section(name: str, parser: argparse.ArgumentParser, document: nodes.document) -> nodes.section:
    section = nodes.section(ids=[f"spnmkl-{name}"], names=[f"spnmkl {name}"])
    document.note_implicit_target(section)
    description = parser.description or ""
    section += nodes.title("", f"spnmkl {name}")
    section += nodes.paragraph("", description[:1].upper() + description[1:] + ".")
    section += _literal(parser.format_usage().removeprefix("usage: ").strip())
    options = nodes.definition_list()
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            options += _option(action)
    if len(options):
        section += options
    section += nodes.paragraph("", "Exit codes:")
    section += _literal(dedent((parser.epilog or "").partition("exit codes:")[2]).strip())
    return section


def _option(action: argparse.Action) -> nodes.definition_list_item:
    words = ", ".join(action.option_strings) or action.dest
    value = "" if action.nargs == 0 or not action.option_strings else f" {_value(action)}"
    term = nodes.term("", "", nodes.literal("", words + value))
    required = " Required." if action.required and action.option_strings else ""
    text = (action.help or "").strip()
    return nodes.definition_list_item(
        "", term, nodes.definition("", nodes.paragraph("", f"{text[:1].upper()}{text[1:]}.{required}"))
    )


def _value(action: argparse.Action) -> str:
    if action.choices is not None:
        return "{" + ", ".join(map(str, action.choices)) + "}"
    return str(action.metavar or action.dest.upper())


def _literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
