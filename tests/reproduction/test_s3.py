from kakuran.reproduction import s3


def test_every_number_of_s3_is_the_same(tmp_path):
    report = s3.reproduce(tmp_path, quick=True).text
    assert report.count("| yes |") == 9
    assert "**no**" not in report
    assert "| prefectures, tree | 1 | 272 / 272 | 160 / 160 | 0.41176 / 0.41176 | yes |" in report
    assert (tmp_path / "s3-figures.png").stat().st_size > 10_000
    assert (tmp_path / "s3-ild.png").read_bytes().startswith(b"\x89PNG")
