"""Every table and figure of the papers, and whether a run tells of each."""

import re

import pytest

ITEMS = {
    "s0": ["Table 1", "Figure 1", "Figure 2", "Table 2"],
    "s1": [*(f"Figure {number}" for number in range(1, 6)), "Table 1"],
    "s2": ["Figure 1"],
    "s3": [*(f"Figure {number}" for number in range(1, 5)), "Examples 2.1, 2.2", "Table 1", "Table 2"],
    "s4": ["Figure 1", *(f"Table {number}" for number in range(1, 8)), *(f"Figure {n}" for n in range(2, 16))],
}


@pytest.fixture(scope="session")
def items():
    return ITEMS


@pytest.fixture
def assert_all_is_found(tmp_path):
    """Every item of a paper has a finding, and every picture that is shown is there."""

    def check(name, found):
        assert [finding.item for finding in found.findings] == ITEMS[name]
        pictures = re.findall(r"\]\((.*?\.png)\)", found.text)
        assert pictures
        assert all((tmp_path / picture).exists() for picture in pictures)

    return check
