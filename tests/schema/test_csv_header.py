"""What a CSV file's first line tells of how the rest is written."""

import pytest

import kakuran as kk
from kakuran.schema.sources.delimited import CsvFormat, CsvHeader, found_format, read_header


def written(folder, text, encoding="utf-8"):
    path = folder / "in.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("line", "delimiter", "names"),
    [
        ("age,job", ",", ["age", "job"]),
        ("age;job", ";", ["age", "job"]),
        ("age\tjob", "\t", ["age", "job"]),
        ("age", ",", ["age"]),
        ('"a,b,c";"d,e"', ";", ["a,b,c", "d,e"]),
        ('"first; last","x; y",age', ",", ["first; last", "x; y", "age"]),
        ("年齢;職業;住所, 番地", ";", ["年齢", "職業", "住所, 番地"]),
    ],
)
def test_the_delimiter_is_the_one_that_stands_most_often_outside_quotes(tmp_path, line, delimiter, names):
    assert read_header(written(tmp_path, line + "\r\n1\r\n")) == CsvHeader(names, delimiter, "utf-8")


def test_a_delimiter_that_is_given_is_taken(tmp_path):
    path = written(tmp_path, "a;b|c;d\n")
    assert read_header(path, CsvFormat("|")).names == ["a;b", "c;d"]
    assert read_header(written(tmp_path, "a;b;c\td\n"), CsvFormat("tab")).names == ["a;b;c", "d"]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "、"])
def test_a_delimiter_that_cannot_be_one_is_refused(tmp_path, delimiter):
    with pytest.raises(kk.SchemaError, match="one plain character"):
        read_header(written(tmp_path, "a,b\n"), CsvFormat(delimiter))


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("told", [None, "UTF8"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, mark, told):
    assert read_header(written(tmp_path, "年齢,職業\n", mark), CsvFormat(encoding=told)).names == ["年齢", "職業"]


@pytest.mark.parametrize(
    ("text", "encoding", "guess"),
    [
        ("会員番号,性別\n1,女\n", "cp932", "cp932"),
        ("id,sex\n1,ジョセイ・女性\n", "cp932", "cp932"),
        ("会員番号,性別\n1,女\n", "euc_jp", "euc_jp"),
        ("Straße;Größe\nSüd;3\n", "cp1252", "cp1252"),
        ("Männer,Frauen\n1,2\n", "cp1252", "cp1252"),
        ("会員番号,性別\n", "utf-16", "utf-16"),
    ],
)
def test_text_that_is_not_utf_8_is_refused_with_a_guess_that_then_reads_it(tmp_path, text, encoding, guess):
    path = written(tmp_path, text, encoding)
    with pytest.raises(kk.SchemaError, match=rf"in\.csv: line \d is not utf-8.*Add --encoding {guess} \("):
        read_header(path)
    assert read_header(path, CsvFormat(encoding=guess)).names == read_header(written(tmp_path, text)).names


@pytest.mark.parametrize(("told", "line"), [(None, 3), ("cp1252", 1)])
def test_text_in_two_encodings_is_refused_by_its_first_line_that_does_not_fit(tmp_path, told, line):
    path = tmp_path / "in.csv"
    path.write_bytes("職業,年齢\n看護師,30\n".encode() + "医師,31\n表現,32\n".encode("cp932") + "薬剤師,33\n".encode())
    with pytest.raises(kk.SchemaError) as error:
        read_header(path, CsvFormat(encoding=told))
    assert str(error.value) == (
        f"{path}: line {line} is not {told or 'utf-8'}, and no encoding that kakuran knows fits all lines; "
        "correct that line, or save the file anew as UTF-8"
    )
    with pytest.raises(kk.SchemaError, match=r"line 3 is not utf-8, and no encoding"):
        found_format(path)


def test_a_line_far_down_that_does_not_fit_is_named(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"street\n" + b"Hauptweg\n" * 20_000 + "Südweg\n".encode("cp1252"))
    with pytest.raises(kk.SchemaError, match=r"line 20,002 is not utf-8.* Add --encoding cp1252 \("):
        kk.Schema.infer(path)


def test_an_encoding_that_is_wrong_or_none_is_refused(tmp_path):
    path = written(tmp_path, "会員番号,性別\n")
    with pytest.raises(kk.SchemaError, match="is not ascii, but perhaps utf-8"):
        read_header(path, CsvFormat(encoding="ascii"))
    for nonsense in ("shift-jiss", "hex"):
        with pytest.raises(kk.SchemaError, match=f"no encoding is called '{nonsense}'"):
            read_header(path, CsvFormat(encoding=nonsense))


def test_an_empty_file_has_no_header(tmp_path):
    with pytest.raises(kk.SchemaError, match="is empty"):
        read_header(written(tmp_path, ""))


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("a,b\n1,2.5\n", "utf-8", CsvFormat()),
        ("名前;額\n太郎;3,5\n花子;12,25\n", "cp932", CsvFormat(encoding="cp932", decimal=",")),
        ("a;b\n1.234.567;x\n", "utf-8", CsvFormat(decimal=",", thousands=".")),
        ("a;b\n1,234;x\n", "utf-8", CsvFormat()),
    ],
    ids=["as programs write it", "a Japanese office", "thousands", "what can be meant in two ways"],
)
def test_what_has_to_be_told_of_a_file_is_found_in_its_first_rows(tmp_path, text, encoding, found):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    assert found_format(path) == found
