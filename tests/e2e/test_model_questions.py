"""test_model_questions.py - the model questions themselves: their data and answers agree, and the judge judges (no model is needed)."""
import json
import os
import subprocess
import sys

import pytest

from conftest import TREE

pytestmark = pytest.mark.no_asan

MODEL = os.path.join(TREE, "tests", "model")
sys.path.insert(0, MODEL)
import run as judge  # noqa: E402


def questions(name):
    with open(os.path.join(MODEL, name + ".json"), encoding="utf-8") as f:
        return json.load(f)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    subprocess.run([sys.executable, os.path.join(MODEL, "data.py"), str(path)], check=True)
    return str(path)


@pytest.mark.slow(3)
@pytest.mark.parametrize("name, kind", [("questions", None), ("second", False), ("second", True), ("tuning", False), ("tuning", True)])
def test_answers_follow_from_the_data(name, kind, folder, monkeypatch):
    pytest.importorskip("pandas")
    if kind:
        pytest.importorskip("openpyxl")
    monkeypatch.chdir(folder)
    for q in questions(name):
        if kind is not None and kind != (q["kind"] == "workbook"):
            continue
        space = {}
        exec(q["proof"], space)
        value = space["r"].item() if hasattr(space["r"], "item") else space["r"]
        assert judge.is_right(str(value), q["answer"]), "%s: %r is not %s" % (q["id"], value, q["answer"])


def test_the_twenty_are_ten_five_five():
    kinds = [q["kind"] for q in questions("questions")]
    assert [kinds.count(k) for k in ("word problem", "data file", "computation")] == [10, 5, 5]
    assert len(questions("tuning")) >= 25
    assert not {q["question"] for q in questions("questions")} & {q["question"] for q in questions("tuning")}


def test_the_second_twenty():
    kinds = [q["kind"] for q in questions("second")]
    assert {k: kinds.count(k) for k in kinds} == {"word problem": 7, "nested JSON": 4, "semicolon CSV": 3, "workbook": 3, "dates as text": 3}
    assert not {q["question"] for q in questions("second")} & {q["question"] for n in ("questions", "tuning") for q in questions(n)}


@pytest.mark.parametrize("answer, wanted, right", [
    ("There are 91 trees after 10 years.", "91", False), ("91 trees.", "91", True), ("91 trees stand there. That took 10 years.", "91", False),
    ("After 10 years there are 91.5 trees", "91.5", True), ("On Monday. No, Tuesday.", "Tuesday", True), ("Tuesday. As said, Monday is not.", "Tuesday", False),
    ("The total is 1.5.", "1.5", True), ("", "5", False)])
def test_the_judge_of_the_last_value(answer, wanted, right):
    assert judge.ends_right(answer, wanted) is right


@pytest.mark.parametrize("answer, wanted, right", [
    ("The sum is 1,548,136.", "1548136", True), ("It is 1548136", "1548136", True), ("about 1548137", "1548136", False),
    ("183.60 euros", "183.6", True), ("183.64 euros", "183.6", False), ("184 euros", "183.6", False), ("**96** rolls", "96", True),
    ("965 rolls", "96", False), ("96.5", "96", False), ("20.0 days", "20", True), ("€6,584.05", "6584.05", True), ("0.151515", "0.1515", False),
    ("On January 24, 2023", "2023-01-24", True), ("24 January 2023", "2023-01-24", True), ("2023-01-25", "2023-01-24", False),
    ("It was a Wednesday.", "Wednesday", True), ("August was best", "August", True), ("22:52", "22:52", True), ("", "5", False),
    ("v96", "96", False), ("1.96", "96", False), ("-96", "96", False)])
def test_the_judge(answer, wanted, right):
    assert judge.is_right(answer, wanted) is right
