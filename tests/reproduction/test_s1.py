import re

from kakuran.reproduction import s1


def test_table_1_is_shown_with_the_papers_numbers_and_a_picture(tmp_path):
    report = s1.reproduce(tmp_path, quick=True).text
    assert "| S1, proposed | 0.0102 | 0.0115 | 0.0162 | 0.0932 |" in report
    auto = [float(cell) for cell in re.search(r"\| auto \|(.*)\|", report).group(1).split("|")]
    empty = [float(cell) for cell in re.search(r"\| an empty table \|(.*)\|", report).group(1).split("|")]
    assert all(0.009 < mine < 0.0125 < none for mine, none in zip(auto, empty, strict=True))
    assert "| plain Pk on every cell | 0.4994 |" in report
    assert (tmp_path / "s1-figures-1-5.png").stat().st_size > 10_000
    assert (tmp_path / "s1-loss.png").read_bytes().startswith(b"\x89PNG")
