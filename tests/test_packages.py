"""The page on the packages is about the code of today, and the house is in order."""

import re
import subprocess
import sys
from xml.sax.saxutils import unescape

import pytest
from tools import house, packages


@pytest.fixture(scope="module")
def counted():
    return house.measures(packages.imports())


def test_the_page_and_the_picture_show_the_code_of_today(counted):
    found = packages.imports()
    way_out = "run python -m tools.house"
    assert house.PAGE.read_text(encoding="utf-8") == house.page(found, counted), way_out
    assert packages.described(found) in unescape(packages.PICTURE.read_text(encoding="utf-8")), way_out


def test_no_bar_is_broken(counted):
    assert [str(measure) for measure in counted if not measure.is_kept] == []


def test_every_file_says_what_it_is_for_in_a_sentence_of_its_own():
    said = [one for files in house.purposes().values() for one in files.values()]
    assert all(said)
    assert len(set(said)) == len(said)


def test_what_a_module_reaches_past_and_defines_is_seen_inside_functions_too():
    text = """
import kakuran.schema.codes
from kakuran.schema import Schema
from kakuran.design.plan import Plan
from typing import TypeAlias
Name: TypeAlias = str
class Thing:
    def work(self):
        from kakuran.counts.tally import (
            Tally,
        )
"""
    module = house.Module("kakuran.design.thing", text)
    assert module.past_front_doors == ["kakuran.schema.codes", "kakuran.counts.tally"]
    assert list(module.names) == ["Name", "Thing"]
    assert (module.lines, module.import_lines) == (11, 7)


def test_a_call_passes_through_what_runs_and_not_through_what_is_only_loaded():
    code = (
        "import kakuran\n"
        "from tools.passing import passing\n"
        "with passing() as passed:\n"
        "    from kakuran.errors import counted\n"
        "    from kakuran.schema import Schema\n"
        "    counted(2, 'record')\n"
        "print(*passed)"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, check=True, capture_output=True, text=True)
    assert told.stdout == "kakuran.errors\n"


def test_every_package_has_a_layer_and_imports_go_down():
    rows = packages.layers()
    depth = {name: place for place, row in enumerate(rows) for name in row}
    found = packages.imports()
    assert set(depth) == set(found)
    assert all(depth[name] < depth[other] for name, others in found.items() for other in others)


def test_the_flow_that_contributors_read_is_the_one_the_linter_enforces():
    text = (house.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    flow = " ".join(re.search(r"along the flow `(.+?)`", text, re.DOTALL).group(1).split()).split(" → ")
    depth = {name: place for place, row in enumerate(packages.layers()) for name in row}
    assert [depth[name] for name in flow] == sorted({depth[name] for name in flow}, reverse=True)


def test_arrows_that_are_left_out_follow_from_those_that_are_drawn():
    found = packages.imports()
    drawn = packages.without_shortcuts(found)

    def reached(name):
        return frozenset().union(drawn[name], *(reached(other) for other in drawn[name]))

    assert all(others <= reached(name) for name, others in found.items())
    assert sum(map(len, drawn.values())) < sum(map(len, found.values()))
