"""The drawing of the packages is that of the code."""

from xml.sax.saxutils import unescape

from tools import packages


def test_the_page_and_the_picture_show_the_imports_of_today():
    found = packages.imports()
    way_out = "run python -m tools.packages"
    assert packages.PAGE.read_text(encoding="utf-8") == packages.page(found), way_out
    assert packages.described(found) in unescape(packages.PICTURE.read_text(encoding="utf-8")), way_out


def test_every_package_has_a_layer_and_imports_go_down():
    rows = packages.layers()
    depth = {name: place for place, row in enumerate(rows) for name in row}
    found = packages.imports()
    assert set(depth) == set(found)
    assert all(depth[name] < depth[other] for name, others in found.items() for other in others)


def test_arrows_that_are_left_out_follow_from_those_that_are_drawn():
    found = packages.imports()
    drawn = packages.without_shortcuts(found)

    def reached(name):
        return frozenset().union(drawn[name], *(reached(other) for other in drawn[name]))

    assert all(others <= reached(name) for name, others in found.items())
    assert sum(map(len, drawn.values())) < sum(map(len, found.values()))
