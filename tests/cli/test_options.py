"""Groups of options, as commands take them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kakuran.cli.options import CsvOptions, Results, grouped


@dataclass(frozen=True)
class Size:
    """Two options that go together."""

    height: Annotated[int, typer.Option("--height")]
    width: Annotated[int, typer.Option("--width")] = 3


@pytest.fixture
def call():
    """Run a command in this process; what it was called with."""

    def run(command, *arguments):
        app = typer.Typer(add_completion=False)
        app.command()(command)
        return CliRunner().invoke(app, [*map(str, arguments)], standalone_mode=False)

    return run


def test_a_command_is_called_with_the_groups_its_options_make(call):
    taken = []

    @grouped
    def paint(colour: Annotated[str, typer.Argument()], size: Size, *, csv: CsvOptions) -> None:
        taken.append((colour, size, csv))

    assert call(paint, "red", "--height", 2, "--decimal", ",").exception is None
    assert taken == [("red", Size(2, 3), CsvOptions(decimal=","))]


def test_what_a_group_requires_is_required(call):
    @grouped
    def paint(size: Size) -> None:
        raise AssertionError(size)

    assert "Missing parameter: height" in str(call(paint).exception)


def test_only_the_options_that_are_named_are_offered(call):
    taken = []

    @grouped
    def paint(*, results: Annotated[Results, "plot", "force"]) -> None:
        taken.append(results)

    assert call(paint, "--plot", "a.png").exception is None
    assert taken == [Results(plot=Path("a.png"))]
    assert "No such option: --report" in str(call(paint, "--report", "a.html").exception)


def test_a_group_stands_where_its_parameter_does(call):
    @grouped
    def paint(colour: Annotated[str, typer.Option("--colour")], size: Size, *, json: bool = False) -> None:
        raise AssertionError((colour, size, json))

    shown = call(paint, "--help").stdout
    assert shown.index("--colour") < shown.index("--height") < shown.index("--width") < shown.index("--json")
