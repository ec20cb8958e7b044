"""What is built holds what it must, and what is not installed is named."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution, distributions
from pathlib import Path

import pyarrow.csv
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kakuran as kk
from kakuran.samples import census, census_schema

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = (
    "matplotlib", "sklearn", "pandas", "polars", "duckdb", "psycopg", "pyspark", "starlette", "uvicorn",
    "sqlalchemy", "formulaic", "pyreadstat", "python_calamine", "xlsxwriter",
)  # fmt: skip
BARE = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.split(".")[0] in {OPTIONAL} else find(name, *rest)
"""
"""The beginning of a program that finds none of the optional parts."""
RUN = """
from kakuran.cli import main
for command in {commands}:
    sys.argv = ["kakuran", *command.split()]
    try:
        main()
    except SystemExit as ended:
        print(f"exit {{ended.code}}", file=sys.stderr, flush=True)
"""


def bare(code, folder):
    """Run a program in an installation without any optional part."""
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BARE + code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A freshly built sdist and wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def built(dist):
    """The names inside them."""
    with tarfile.open(dist[0]) as sdist, zipfile.ZipFile(dist[1]) as wheel:
        top = f"kakuran-{PROJECT['version']}/"
        return {name.removeprefix(top) for name in sdist.getnames()}, set(wheel.namelist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, its schema and its release."""
    place = tmp_path_factory.mktemp("bare")
    people = census(300)
    pyarrow.csv.write_csv(people, place / "people.csv")
    census_schema().save(place / "schema.toml")
    kk.perturb(people, kk.calibrate(census_schema(), n=300, k=5, tell="all")).save(place / "out.parquet")
    (place / "baskets.txt").write_text("bread,milk\nmilk\n" * 20)
    shutil.copy(ROOT / "src/kakuran/collect/template.toml", place / "survey.toml")
    return place


def tracked(path):
    return [one for one in sorted((ROOT / path).rglob("*")) if one.is_file() and "__pycache__" not in one.parts]


def test_the_wheel_holds_every_file_of_the_package_the_marker_of_types_and_the_command(built):
    _, wheel = built
    assert {str(path.relative_to(ROOT / "src")) for path in tracked("src/kakuran")} <= wheel
    assert "kakuran/py.typed" in wheel
    assert f"kakuran-{PROJECT['version']}.dist-info/entry_points.txt" in wheel
    assert not [name for name in wheel if name.startswith(("tests", "tools", "docs"))]


def test_the_sdist_holds_what_the_tests_and_the_documentation_need(built):
    sdist, _ = built
    for part in ("src", "tests", "tools", "docs", "notebooks", "r"):
        assert {str(path.relative_to(ROOT)) for path in tracked(part)} <= sdist
    assert {"pyproject.toml", "mkdocs.yml", "Makefile", "constraints.txt", "CHANGELOG.md", "CITATION.cff"} <= sdist
    assert {"Dockerfile", ".dockerignore", "README.md", "README.ja.md", "benchmarks/results/engine.md"} <= sdist


def link_what_it_requires(site):
    """Put all that the installed wheel asks for beside it, from our own installation: nothing is fetched."""
    there = {canonicalize_name(one.name): one for one in distributions(path=[str(site)])}
    lacking = [*there]
    while lacking:
        for line in there[lacking.pop()].requires or ():
            wanted = Requirement(line)
            name = canonicalize_name(wanted.name)
            if name not in there and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
                there[name] = distribution(name)
                lacking.append(name)
                for top in {file.parts[0] for file in there[name].files} - {"..", "__pycache__"}:
                    (site / top).symlink_to(there[name].locate_file(top))


def test_the_wheel_alone_brings_all_that_the_demo_needs(dist, tmp_path):
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        done = subprocess.run(
            command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    run(sys.executable, "-m", "venv", "--without-pip", "env")
    installed = tmp_path / "env/bin"
    pip = (sys.executable, "-m", "pip", "--python", installed / "python")
    run(*pip, "install", "--no-index", "--no-deps", "--no-compile", dist[1])
    link_what_it_requires(next((tmp_path / "env").glob("lib/python*/site-packages")))
    run(*pip, "check")
    assert run(installed / "python", "-c", "import kakuran; print(kakuran.__file__)").stdout.startswith(str(tmp_path))
    told = run(installed / "kakuran", "demo", "--n", "300").stderr
    assert "no report: a picture needs an optional part: pip install 'kakuran[plot]'" in told
    assert (tmp_path / "demo/release.parquet").is_file()


def test_the_version_stands_in_one_place_and_everybody_says_the_same(tmp_path):
    assert kk.__version__ == PROJECT["version"]
    told = bare("from kakuran.cli import main; sys.argv = ['kakuran', '--version']; main()", tmp_path)
    assert told.stdout == f"kakuran {PROJECT['version']}\n"


def exits(commands, folder):
    """What a bare installation says to each command on stderr, and the code it exits with."""
    told = bare(RUN.format(commands=commands), folder).stderr
    said = told.split("exit ")
    return [(int(after.split("\n")[0]), before) for before, after in itertools.pairwise(said)]


def test_a_command_that_lacks_an_extra_names_it_and_leaves_nothing(folder):
    lacking = {
        "crosstab out.parquet job --plot a.png": "plot",
        "audit people.csv out.parquet --plot a.png": "plot",
        "tree out.parquet job --plot a.png": "plot",
        "mixture out.parquet age --plot a.png": "plot",
        "factorise baskets.txt --layout baskets --k 5 -o f.csv --plot a.png": "plot",
        "demo --folder d --plot a.png": "plot",
        "reproduce s3 --quick": "plot",
        "regress out.parquet age~sex": "regress",
        "collect serve survey.toml": "collect",
        "collect status survey.toml": "collect",
        "perturb people.csv -s schema.toml --k 5 -o folder --engine spark": "spark",
        "schema infer people.csv --sql select -o s.toml": "duckdb",
        "schema infer postgresql://host/people --sql select -o s.toml": "postgres",
        "perturb people.csv -s schema.toml --k 5 -o o.parquet --report r.html": "plot",
        "perturb people.csv -s schema.toml --k 5 -o o.sav": "files",
        "crosstab out.parquet job -o table.xlsx": "files",
    }
    before = sorted(folder.iterdir())
    for (command, extra), (code, told) in zip(lacking.items(), exits([*lacking], folder), strict=True):
        assert (code, f"kakuran[{extra}]" in told) == (6, True), (command, told)
    assert sorted(folder.iterdir()) == before


def test_every_other_command_does_without_extras(folder, tmp_path):
    commands = [
        "schema check people.csv -s schema.toml",
        "calibrate people.csv -s schema.toml --k 5",
        f"perturb people.csv -s schema.toml --k 5 -o {tmp_path}/o.parquet",
        "audit people.csv out.parquet",
        "crosstab out.parquet job",
        "count out.parquet age>30",
        "estimate out.parquet mean age",
        "tree out.parquet sex job",
        f"microaggregate people.csv --k 5 -c age -o {tmp_path}/m.csv",
        "check people.csv -q sex",
        "loss people.csv people.csv",
        f"factorise baskets.txt --layout baskets --k 5 -o {tmp_path}/f.csv",
        "vertical demo --help",
        f"demo --n 300 --folder {tmp_path}/demo",
    ]
    said = exits(commands, folder)
    for command, (code, told) in zip(commands, said, strict=True):
        assert code == 0, (command, told)
    assert "kakuran[plot]" in said[-1][1]  # demo does without its report, and tells how to get it


def test_every_public_name_is_there_or_names_its_extra(folder):
    code = (
        "import kakuran as kk\n"
        "for name in kk.__all__:\n"
        "    try:\n        getattr(kk, name)\n"
        "    except kk.MissingExtraError as e:\n        print(name, str(e).split('kakuran[')[1].split(']')[0])\n"
    )
    told = bare(code, folder)
    assert told.returncode == 0, told.stderr
    lacking = dict(line.split() for line in told.stdout.splitlines())
    assert {"ReconstructedTree": "sklearn", "Microaggregation": "sklearn"}.items() <= lacking.items()
    assert set(lacking.values()) <= set(PROJECT["optional-dependencies"])
    assert not {"perturb", "calibrate", "read_release", "audit", "Schema"} & set(lacking)


def test_every_picture_and_frame_names_its_extra(folder):
    code = (
        "import kakuran as kk\n"
        "release = kk.read_release('out.parquet')\n"
        "table = release.crosstab('job')\n"
        "density = release.density('age', bins=4, method='ibt')\n"
        "mixture = release.mixture('age', n_components=1)\n"
        "for draw in (table.plot, density.plot, mixture.plot, table.to_pandas, table.to_polars):\n"
        "    try:\n        draw()\n"
        "    except kk.MissingExtraError as error:\n        print(str(error).split('kakuran[')[1].split(']')[0])\n"
    )
    told = bare(code, folder)
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == ["plot", "plot", "plot", "pandas", "polars"]


def test_the_citation_names_the_version_and_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert {"message", "title", "authors"} <= set(citation)
    assert [paper["notes"][:2] for paper in citation["references"]] == ["S0", "S1", "S2", "S3", "S4"]
    for paper in citation["references"]:
        assert {"type", "title", "authors"} <= set(paper)
        assert all({"family-names", "given-names"} == set(author) for author in paper["authors"])


def lines_of(instruction):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.removeprefix(instruction).strip() for line in text.splitlines() if line.startswith(instruction + " ")]


def test_the_image_copies_what_there_is_and_does_not_run_as_root():
    copied = [word for line in lines_of("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert copied
    assert all((ROOT / path).exists() for path in copied)
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert all(f"!{path}" in let_in for path in copied)
    assert lines_of("USER") == ["kakuran"]
    extras = lines_of("RUN")[0].partition("'.[")[2].partition("]")[0].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


def test_the_command_of_the_image_is_one_that_kakuran_knows(tmp_path):
    command = [*json.loads(lines_of("ENTRYPOINT")[0]), *json.loads(lines_of("CMD")[0])]
    group, action, *options = command[1:]
    code = f"from kakuran.cli import main; sys.argv = ['kakuran', {group!r}, {action!r}, '--help']; main()"
    told = bare(code, tmp_path)
    assert told.returncode == 0
    assert all(option in told.stdout for option in options if option.startswith("--"))
