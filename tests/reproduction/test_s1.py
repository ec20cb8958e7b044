import re

import numpy as np

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


def test_ratings_in_the_folder_are_released_too(tmp_path):
    dice = np.random.default_rng(0)
    films = [dice.choice(30, 8, replace=False) for _ in range(40)]
    lines = [f"{person}\t{film}\t{1 + film % 5}\t0" for person, seen in enumerate(films) for film in seen]
    (tmp_path / "u.data").write_text("\n".join(lines))
    rows = [line.split(" | ") for line in s1.losses(tmp_path) if "MovieLens" in line]
    assert [row[1] for row in rows] == ["2", "5", "10"]
    stars = sum(1 + film % 5 for seen in films for film in seen)
    assert all(float(row[2]) == round(stars / (40 * 30), 4) >= float(row[5].rstrip(" |")) for row in rows)


def test_a_folder_without_real_data_adds_nothing(tmp_path):
    assert s1.losses(tmp_path) == []
