"""test_first_result.py - what a small model's code gives is its answer, whatever number that is: with decimals, below 1, of sixteen digits. One
request, and nothing is doubted (src/answer/agent/small_model.c)."""
import json

import pytest

QUESTIONS = [
    ("What are 1000 euros worth after 10 years at 3.5 % interest?", "amount = 1000 * 1.035 ** 10\nprint(amount)", "1410.59876062"),
    ("How much interest does 250 euros bring in one day at 2 % a year?", "print(round(250 * 0.02 / 365, 4))", "0.0137"),
    ("What is the square root of 2?", "import math\nprint(math.sqrt(2))", "1.41421356237"),
    ("What is the sine of 1?", "import math\nprint(math.sin(1))", "0.841470984808"),
    ("What is 1/7?", "print(1 / 7)", "0.142857142857"),
    ("How likely is a sum of 7 with two dice?", "n = sum(a + b == 7 for a in range(1, 7) for b in range(1, 7))\nprint(n / 36)", "0.166666666667"),
    ("What share is 3 of 8?", "3 / 8", "0.375"),
    ("What is e to the minus 10?", "import math\nprint(math.exp(-10))", "4.53999297625e-05"),
    ("How far is 26.2 miles in kilometres?", "print(26.2 * 1.609344)", "42.1648128"),
    ("What is the mean of 3, 4 and 6?", "mean = (3 + 4 + 6) / 3\nprint(mean)", "4.33333333333"),
    ("What is 0.1 + 0.2?", "print(0.1 + 0.2)", "0.3"),
    ("What is minus a third of 2?", "print(-2 / 3)", "-0.666666666667"),
]


@pytest.mark.parametrize("question, code, answer", QUESTIONS, ids=[q for q, _, _ in QUESTIONS])
def test_one_request_and_the_first_result(sandpiper, serve, question, code, answer):
    sandpiper.configure("models:\n  m: {dialect: blocks, output_answers: true}\n")
    server = serve(sandpiper, [{"answer": {"text": "```python\n%s\n```" % code}}], model="m")
    r = sandpiper.run("--json", question)
    assert r.code == 0 and r.err == "" and len(server.bodies()) == 1, r
    lines = [json.loads(line) for line in r.out.splitlines()]
    assert [e["answer"] for e in lines if e["type"] == "done"] == [answer], r
    assert not [e for e in lines if e["type"] == "notice"], r
