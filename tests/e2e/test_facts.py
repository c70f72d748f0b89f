"""test_facts.py - what a model is told when its code did not fit the data: the keys that are there, where the key is that it wanted, the
lines that read a file, and the data itself when it sends the same failing code again. A model that calls tools gets the same."""
import json

import pytest

DATA = {"customers": [{"id": i, "name": "C%d" % i, "country": "XY"[i % 2]} for i in range(200)],
        "orders": [{"no": i, "customer": {"id": i % 200, "rank": 1}, "lines": [{"sku": "a", "qty": i}]} for i in range(200)]}


def told(sandpiper, serve, codes, dialect, add=None):
    """What the model is sent after each code: the last message of every request but the first."""
    sandpiper.configure("models:\n  m: {dialect: %s}\n" % dialect)
    replies = [{"answer": {"calls": [{"code": c}]} if dialect == "native" else {"text": "```python\n%s\n```" % c}} for c in codes]
    server = serve(sandpiper, replies + [{"answer": {"text": "done"}}], model="m")
    r = sandpiper.run(*(("--add", add) if add else ()), "go")
    assert r.code in (0, 4), r
    return [b["messages"][-1]["content"] for b in server.bodies()[1:]]


@pytest.mark.parametrize("dialect", ["native", "blocks"])
@pytest.mark.parametrize("code, facts", [
    ("for o in data['orders']:\n    o['customer']['country']",
     ["KeyError: 'country'", "keys of o['customer']: id, rank", "country is in data['customers'][0]"]),
    ("customers, o = data['customers'], data['orders'][0]\ndel data\no['country']",
     ["keys of o: no, customer, lines", "keys of o['customer']: id, rank", "keys of o['lines'][0]: sku, qty", "country is in customers"]),
    ("sum(o['quantity'] for o in data['orders'])", ["keys of o: no, customer, lines", "keys of o['lines'][0]: sku, qty"]),
    ("data['orders']['lines']", ["data['orders'] is a list of 200", "data['orders'][0] is an object with the keys no, customer, lines"]),
    ("for key in data:\n    key['name']", ["key is the text 'customers'"]),
])
def test_the_names_that_are_there(sandpiper, serve, dialect, code, facts):
    text = told(sandpiper, serve, ["data = %r\n%s" % (dict(DATA, customers=DATA["customers"][:3]), code)], dialect)[0]
    for fact in facts:
        assert fact in text, text


def test_columns_of_other_frames(sandpiper, serve):
    code = "import pandas as pd\ncustomers = pd.DataFrame({'id': [1], 'country': ['X']})\norders = pd.DataFrame({'no': [1]})\norders[orders['country'] == 'X']"
    text = told(sandpiper, serve, ["try:\n    import pandas\nexcept ImportError:\n    print('none')", code], "native")
    if "none" in text[0]:
        pytest.skip("no pandas in the sandbox")
    assert "columns of orders: no" in text[1] and "country is in customers" in text[1]


def test_hostile_objects_do_not_run_for_a_hint(sandpiper, serve):
    code = ("class D(dict):\n    def keys(self): raise SystemExit(9)\n    def __contains__(self, k): raise SystemExit(9)\n"
            "d, deep = D(a=1), {}\nfor i in range(5000): deep = {'x': deep}\nd['b']")
    text = told(sandpiper, serve, [code], "native")[0]
    assert "KeyError: 'b'" in text and "keys of d: a" in text, text


@pytest.mark.parametrize("dialect", ["native", "blocks"])
def test_the_same_failing_code_shows_the_data(sandpiper, serve, dialect):
    path = sandpiper.write("trade.json", json.dumps(DATA))
    code = "import json\ndata = json.load(open('/mnt/data/trade.json'))\nprint(data['orders'][0]['quantity'])"
    first, again = told(sandpiper, serve, [code, code], dialect, add=path)
    assert "KeyError: 'quantity'" in first and "'lines': [{'sku': 'a', 'qty': 0}]" not in first.split("Your code failed")[-1]
    shown = again.split("KeyError")[-1]         # in the dialect of blocks the question stands before it
    assert "'lines': [{'sku': 'a', 'qty': 0}]" in shown and "json.load(open('/mnt/data/trade.json'))" in shown, again
    assert "in data['customers']: " in shown


@pytest.mark.parametrize("dialect", ["native", "blocks"])
@pytest.mark.parametrize("code, reads", [
    ("print(len(data['orders']))", True),
    ("data = [7]\nprint(len(data) + 199)", False),
    ("import json\ndata = json.load(open('/mnt/data/trade.json'))\nprint(len(data['orders']))", False),
    ("class A: data = 1\nprint(199 + A.data, '/mnt/data')", False),
    ("for data in [200]: print(data)", False),
])
def test_a_file_that_was_not_read(sandpiper, serve, dialect, code, reads):
    """The lines of the profile stand in front of code that takes them for run, where the user sees them; never where the code makes that name."""
    path = sandpiper.write("trade.json", json.dumps(DATA))
    sandpiper.configure("models:\n  m: {dialect: %s}\n" % dialect)
    again = "try: print(data)\nexcept NameError: print(1)"
    replies = [{"answer": {"calls": [{"code": c}]} if dialect == "native" else {"text": "```python\n%s\n```" % c}} for c in (code, again)]
    server = serve(sandpiper, replies + [{"answer": {"text": "done"}}], model="m")
    r = sandpiper.run("--add", path, "--json", "go")
    events = [json.loads(line) for line in r.out.splitlines()]
    ran = [e["code"] for e in events if e["type"] == "tool_call"]
    assert ran[0].rstrip() == ("import json; data = json.load(open('/mnt/data/trade.json'))\n" if reads else "") + code
    assert "200" in server.bodies()[1]["messages"][-1]["content"]
    assert ran[1].rstrip() == again


def test_a_request_for_the_answer_has_no_profile(sandpiper, serve):
    """In blocks every round is paid for again; after good output only words are wanted. After a failure the profile is there."""
    path = sandpiper.write("trade.json", json.dumps(DATA))
    sandpiper.configure("models:\n  m: {dialect: blocks}\n")
    server = serve(sandpiper, [{"answer": {"text": "```python\n1/0\n```"}}, {"answer": {"text": "```python\nprint(42)\n```"}}, {"answer": {"text": "42"}}], model="m")
    assert sandpiper.run("--add", path, "How many?").code == 0
    sent = ["\n".join(m["content"] for m in b["messages"]) for b in server.bodies()]
    assert ["in data['orders']" in s for s in sent] == [True, True, False] and all("How many?" in s for s in sent)


def test_a_small_file_that_is_shown_whole_stays(sandpiper, serve):
    path = sandpiper.write("note.txt", "The word is lantern.\n")
    sandpiper.configure("models:\n  m: {dialect: blocks}\n")
    server = serve(sandpiper, [{"answer": {"text": "```python\nprint(1)\n```"}}, {"answer": {"text": "lantern"}}], model="m")
    assert sandpiper.run("--add", path, "Which word?").code == 0
    assert "lantern" in server.bodies()[1]["messages"][1]["content"]
