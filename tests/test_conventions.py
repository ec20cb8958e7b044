"""What surrounds the code: workflows, templates, the recipe and the paper hold together, though they run elsewhere."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kakuran.defaults import DEFAULT_LEVEL

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "dependabot": [ROOT / ".github/dependabot.yml"],
    "github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")),
    "citation-file-format": [ROOT / "CITATION.cff"],
}
OURS = re.compile(r"(?<![\w./-])((?:tests|tools|benchmarks|docs|r)/[\w./-]+|constraints\.txt|pyproject\.toml)")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in read(workflow)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_others_follow_the_schemas_that_others_publish(schema):
    assert SCHEMAS[schema]
    command = [sys.executable, "-m", "check_jsonschema", "--default-filetype", "yaml"]
    done = subprocess.run(
        [*command, "--builtin-schema", f"vendor.{schema}", *map(str, SCHEMAS[schema])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_run_only_what_there_is():
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    told = [step["run"] for workflow in WORKFLOWS for step in steps(workflow) if "run" in step]
    made = {rule for run in told for rule in re.findall(r"\bmake (\w+)", run)}
    assert {"test", "docs"} <= made <= rules
    named = {path for run in told for path in OURS.findall(run)}
    assert {"constraints.txt", "tests/schema"} <= named
    assert [path for path in named if not (ROOT / path).exists()] == []
    extras = {extra for run in told for group in re.findall(r"\.\[([\w,]+)\]", run) for extra in group.split(",")}
    assert {"dev", "plot"} <= extras <= set(PROJECT["optional-dependencies"])


def test_workflows_may_only_read_unless_a_job_says_more_and_run_nothing_that_others_write():
    for workflow in WORKFLOWS:
        assert read(workflow)["permissions"] == {"contents": "read"}
        assert [step["run"] for step in steps(workflow) if "${{ github." in step.get("run", "")] == []


def test_every_python_that_is_promised_is_tested():
    matrix = read(ROOT / ".github/workflows/ci.yml")["jobs"]["everything"]["strategy"]["matrix"]
    promised = [line.split(" :: ")[-1] for line in PROJECT["classifiers"] if ":: Python :: 3." in line]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_recipe_asks_for_what_the_package_asks_for():
    recipe = read(ROOT / "conda/recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    run = [line.replace(" ", "") for line in recipe["requirements"]["run"]]
    assert run[1:] == PROJECT["dependencies"]
    ((name, command),) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [f"{name} = {command}"]


def test_what_the_paper_measured_stands_in_the_results_and_what_it_cites_in_its_list():
    paper = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    results = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks/results").glob("*.md"))
    measured = re.findall(r"^\| (?!measured|-)(.*) \|$", paper, re.MULTILINE)
    assert len(measured) >= 5
    assert [row for row in measured if f"| {row} |" not in results] == []
    assert not re.search(r"\d\.\d", re.sub(r"^(\|.*|---\n.*?---)$", "", paper, flags=re.DOTALL | re.MULTILINE))
    listed = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"@(\w+)", paper)) == listed


def test_what_runs_before_a_commit_is_what_lint_and_types_run():
    hooks = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    programs = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in hooks}
    rules = "".join(re.findall(r"^(?:lint|types):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    assert programs == set(re.findall(r"\$\(BIN\)/([\w-]+)", rules))


def literal_levels(path):
    """Where a module writes down a level of intervals: a default, a constant, an argument, a quantile or a text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        named = []
        if isinstance(node, ast.arguments):
            plain = [*node.posonlyargs, *node.args]
            named = [*zip(plain[len(plain) - len(node.defaults) :], node.defaults, strict=True)]
            named += zip(node.kwonlyargs, node.kw_defaults, strict=True)
            named = [(one.arg, value) for one, value in named]
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            named = [(getattr(target, "id", ""), node.value)]
        elif isinstance(node, ast.keyword):
            named = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in QUANTILES:
            named = [("level", value) for value in node.args]
        for name, value in named:
            is_level = name.lower().strip("_") in ("level", "default_level")
            if is_level and isinstance(value, ast.Constant) and isinstance(value.value, float):
                yield f"{path.name}:{value.lineno}: {ast.unparse(value)}"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from (f"{path.name}:{node.lineno}: {text}" for text in LEVEL_IN_WORDS.findall(node.value))


QUANTILES = {"ndtri", "stdtrit", "ppf"}
LEVEL_IN_WORDS = re.compile(r"(?<!for a )\d\d ?% ?(?:interval|区間(?!なら))")


def test_the_level_of_intervals_is_written_down_once():
    source = ROOT / "src/kakuran"
    found = [line for path in sorted(source.rglob("*.py")) for line in literal_levels(path)]
    assert [line.partition(":")[0] for line in found] == ["defaults.py"], found
    for catalogue in (source / "words").glob("*.toml"):
        assert LEVEL_IN_WORDS.findall(catalogue.read_text(encoding="utf-8")) == []


def test_r_has_the_same_level_of_intervals():
    written = "".join(path.read_text(encoding="utf-8") for path in [*ROOT.glob("r/R/*.R"), *ROOT.glob("r/man/*.Rd")])
    assert set(re.findall(r"level = ([\d.]+)", written)) == {str(DEFAULT_LEVEL)}
