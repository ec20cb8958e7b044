"""Each page on how to add something is followed to the letter, in a copy of the package."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```python(?: title="(.+?)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
BETWEEN = "what the page prints ends here"


def follow(page, folder, more):
    """Do what a page says, which is to add one file and one line, in a copy; what its code prints, and what more does.

    Both in one process, as it takes longer to start than they do, but neither sees what the other defined.
    """
    being_compiled = shutil.ignore_patterns("*.pyc.*")  # by another test; what is compiled already comes along
    shutil.copytree(ROOT / "src", folder / "src", ignore=being_compiled)
    blocks = BLOCK.findall((ROOT / f"docs/how-to-add/{page}.md").read_text(encoding="utf-8"))
    assert len([path for path, _ in blocks if path and not (ROOT / path).exists()]) == 1
    assert [text.count("\n") for path, text in blocks if path and (ROOT / path).exists()] == [1]
    for path, text in blocks:
        if path:
            with (folder / path).open("a", encoding="utf-8") as file:
                file.write(text)
    told = "".join(text for path, text in blocks if not path)
    code = f"exec({told!r}, {{}})\nprint({BETWEEN!r})\nexec({more!r}, {{}})"
    command = [sys.executable, "-W", "ignore", "-c", code]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{BETWEEN}\n")


def test_a_mechanism_is_one_file_and_one_line_and_keeps_its_promise_and_gives_true_counts_back(tmp_path):
    code = """
import numpy as np
import kakuran as kk
from kakuran.samples import census, census_schema
table = census()
schema = kk.Schema(census_schema().some(["job", "sex"]))
plan = kk.calibrate(schema, n=50_000, k=10, mechanisms={"job": "ordinal"})
assert plan.k_for(50_000) >= 10 * (1 - 1e-9)
release = kk.perturb(table.select(["sex", "job"]), plan, seed=1)
answer = release.crosstab("job", level=1 - 1e-6)
jobs = table["job"].to_pylist()
true = np.array([jobs.count(value) for value in plan.schema["job"].values])
print(((answer.low <= true) & (true <= answer.high)).all())
print(abs(answer.counts - true).sum() < abs(answer.naive - true).sum())
"""
    of_page, more = follow("mechanism", tmp_path, code)
    assert of_page.startswith("ordinal\njob")
    assert more == "True\nTrue\n"


def test_a_file_format_is_one_file_and_one_line_and_its_files_are_read_as_others_are(tmp_path):
    code = """
from pathlib import Path
import kakuran as kk, pyarrow as pa, pyarrow.orc
for year in (2020, 2021):
    Path(f"folder/year={year}").mkdir(parents=True)
    pyarrow.orc.write_table(pa.table({"age": [30, 40], "job": ["a", "b"]}), f"folder/year={year}/part.orc")
source = kk.open_source("folder")
print(source.names, source.rows, [part.records.to_pydict() for part in source.parts({"job": pa.string()})])
try:
    kk.open_source("folder", "select * from data")
except kk.SchemaError as error:
    print(error)
try:
    kk.open_source("other.json")
except kk.SchemaError as error:
    print(".orc" in str(error))
Path("folder/broken.orc").write_bytes(b"nothing")
try:
    kk.open_source("folder/broken.orc").rows
except kk.SchemaError as error:
    print(error)
"""
    of_page, more = follow("file-format", tmp_path, code)
    assert of_page == "50000\n"
    told = more.splitlines()
    assert told[0] == "['age', 'job', 'year'] 4 [{'job': ['a', 'b']}, {'job': ['a', 'b']}]"
    assert told[1].endswith("part.orc: DuckDB does not read .orc files; leave out the query")
    assert told[2] == "True"
    assert told[3].startswith("folder/broken.orc: cannot be read")


def test_an_answer_is_one_file_and_one_line_and_can_do_what_others_can(tmp_path):
    code = """
import pickle
import kakuran as kk, pyarrow as pa
people = pa.table({"job": ["<clerk>", "nurse", "nurse", "nurse"] * 500})
schema = kk.Schema([kk.Categorical("job", ["<clerk>", "nurse"])])
release = kk.perturb(people, kk.calibrate(schema, n=2000, k=5), seed=1)
counted = []
ranking = release.ranking("job", progress=counted.append)
print(ranking, sum(counted), "ranking" in dir(release), hasattr(release, "nonsense"))
print(isinstance(ranking, kk.Answer), ranking.to_dict()["values"], "&lt;clerk&gt;" in ranking._repr_html_())
print(pickle.loads(pickle.dumps(release)).ranking("job") == ranking)
release.save("jobs.parquet")
print(kk.read_release("jobs.parquet").ranking("job") == ranking)
"""
    of_page, more = follow("answer", tmp_path, code)
    assert of_page == "['sex', 'count']\n"
    assert more.splitlines() == [
        "job: nurse > <clerk> 2000 True False",
        "True ('nurse', '<clerk>') True",
        "True",
        "True",
    ]
