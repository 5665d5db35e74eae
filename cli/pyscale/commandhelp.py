"""Help of the commands: options in groups, with choices, effective defaults and examples."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

WIDEST = 28
"""Columns of the names; a longer one has its text on the next line."""


def option(takes: str | None, text: str, *flags: str, default: Any = None, **more: Any) -> Any:
    """Declare an option by what it takes and its help; its flag is its parameter's name."""
    return typer.Option(default, *flags, metavar=takes, help=text, **more)


def switch(flag: str, text: str) -> Any:
    """Declare an option that takes nothing and is off unless it is given."""
    return typer.Option(False, flag, help=text)


def argument(name: str | None, text: str | None = None, *, default: Any = None, **more: Any) -> Any:
    """Declare an argument by its name and help; one with the default `...` must be given."""
    return typer.Argument(default, metavar=name, help=text, **more)


JSON = switch("--json", "Print JSON.")
RUN = argument("RUN", "Id, unique start or end of one, or folder.", show_default="latest")


class Command(TyperCommand):
    """A command whose help has its options in groups, and examples at its end."""

    settings_are_defaults = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write plain text, also for a group that is used by itself."""
        self.rich_markup_mode = None
        super().format_help(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name the arguments as their descriptions do."""
        arguments = [one for one in self.get_params(ctx) if isinstance(one, TyperArgument)]
        names = [f"{_name(one)}{'...' * (one.nargs != 1)}" for one in arguments]
        named = zip(arguments, names, strict=True)
        return ["[OPTIONS]", *(name if one.required else f"[{name}]" for one, name in named)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and each group of options, in the order of their declaration."""
        settings = _of_settings() if self.settings_are_defaults else {}
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if not getattr(param, "hidden", False):
                is_argument = isinstance(param, TyperArgument)
                usual = "Arguments" if is_argument else "Options"
                rows = groups.setdefault(getattr(param, "rich_help_panel", None) or usual, [])
                rows.append(_row(param, *settings.get(str(param.name), (None, None))))
        width = min(WIDEST, max(len(name) for rows in groups.values() for name, _ in rows))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], WIDEST)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - given
        """Write the examples as they are, since no line to paste may be broken."""
        if self.epilog:
            lines = self.epilog.splitlines()
            with formatter.section("Examples" if len(lines) > 1 else "Example"):
                for line in lines:
                    formatter.write(f"  {line}\n")


class SettingsCommand(Command):
    """One whose options replace settings: their values of here are its defaults."""

    settings_are_defaults = True


class Group(TyperGroup):
    """A group of commands whose help ends with examples."""

    format_epilog = Command.format_epilog


def group(text: str, example: str) -> typer.Typer:
    """Commands under one name, with their help and an example of one of them."""
    return typer.Typer(cls=Group, help=text, epilog=example, no_args_is_help=True)


def helped(*examples: str, settings_are_defaults: bool = False) -> dict[str, Any]:
    """Arguments of `Typer.command` for a command with these examples."""
    cls = SettingsCommand if settings_are_defaults else Command
    return {"cls": cls, "epilog": "\n".join(examples)}


def _of_settings() -> dict[str, tuple[str | None, str | None]]:
    """What each setting is in this folder, in words, and its values where they are few."""
    from pyscale.errors import UserError
    from pyscale.settings import Settings, load_settings

    try:
        values = load_settings().model_dump(mode="json")
    except UserError:
        # The command itself says what is wrong with them; its help is no place to fail.
        values = {}
    found = {}
    for name, field in Settings.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        few = (f"[{'|'.join(get_args(kind))}]" for kind in kinds if get_origin(kind) is Literal)
        found[name] = _in_words(values.get(name)), next(few, None)
    return found


def _in_words(value: Any) -> str | None:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "on" if value is True else str(value) if value else None


def _row(param: Any, default: str | None, choices: str | None) -> tuple[str, str]:
    """Names of a parameter with what it takes, and its help with what holds without it."""
    takes = param.metavar or choices
    if default is None and param.show_default:
        own = param.show_default if isinstance(param.show_default, str) else param.default
        default = str(own) if own else None
    text = f"{param.help or ''}{f' (default: {default})' if default else ''}"
    if isinstance(param, TyperArgument):
        return _name(param), text
    names = ", ".join(param.opts)
    return names if param.is_flag else f"{names} {takes or 'VALUE'}", text


def _name(argument: TyperArgument) -> str:
    return argument.metavar or str(argument.name).upper()
