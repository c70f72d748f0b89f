"""test_facts.py - what a model is told when its code did not fit the data: the keys that are there, where the key
is that it wanted, the lines that read a file, and the data itself when it sends the same failing code again. A model
that calls tools gets the same."""
import json
import os
import re
import sqlite3
import zipfile

import pytest

BOTH = pytest.mark.parametrize("dialect", ["native", "blocks"])
DATA = {"customers": [{"id": i, "name": "C%d" % i, "country": "XY"[i % 2]} for i in range(200)],
        "orders": [{"no": i, "customer": {"id": i % 200, "rank": 1}, "lines": [{"sku": "a", "qty": i}]}
                   for i in range(200)]}
OWN = "import json; data = json.load(open('/mnt/data/trade.json'))"         # as a model may write it
READ = OWN.replace("json;", "json, pandas as pd;")
TABLES = """
customers = pd.DataFrame(data['customers'])
lines = pd.json_normalize([{**a, **b} for a in data['orders'] for b in a['lines']]).drop(columns=['lines'])
both = customers.merge(lines, left_on='id', right_on='customer.id')  # 200 rows
"""
LEAF = "'lines': [{'sku': 'a', 'qty': 0}]"      # only the profile shows it


def reply(code, dialect):
    if dialect == "native":
        return {"answer": {"calls": [{"code": code}]}}
    return {"answer": {"text": "```python\n%s\n```" % code}}


def session(sandpiper, serve, codes, dialect, *args):
    """One question whose replies are these codes, then words: (the result, the bodies of the requests)."""
    sandpiper.configure("models:\n  m: {dialect: %s}\n" % dialect)
    server = serve(sandpiper, [reply(c, dialect) for c in codes] + [{"answer": {"text": "done"}}], model="m")
    r = sandpiper.run(*args, "How many?")
    assert r.code in (0, 4), r
    return r, server.bodies()


def told(*args):
    """What the model is sent after each code: the last message of every request but the first."""
    return [b["messages"][-1]["content"] for b in session(*args)[1][1:]]


@pytest.mark.asan_once
@pytest.mark.slow(5)
@BOTH
@pytest.mark.parametrize("code, facts", [
    ("for o in data['orders']:\n    o['customer']['country']",
     ["KeyError: 'country'", "keys of o['customer']: id, rank", "country is in data['customers'][0]"]),
    ("customers, o = data['customers'], data['orders'][0]\ndel data\no['country']",
     ["keys of o: no, customer, lines", "keys of o['customer']: id, rank", "keys of o['lines'][0]: sku, qty",
      "country is in customers"]),
    ("sum(o['quantity'] for o in data['orders'])",
     ["keys of o: no, customer, lines", "keys of o['lines'][0]: sku, qty"]),
    ("data['orders']['lines']",
     ["data['orders'] is a list of 200", "data['orders'][0] is an object with the keys no, customer, lines"]),
    ("for key in data:\n    key['name']", ["key is the text 'customers'"]),
    ("{o['customer']: o['no'] for o in data['orders']}", ["o['customer'] is an object with the keys id, rank"]),
    ("n = {}\nfor o in data['orders']:\n    n[o['customer']] = 1", ["o['customer'] is an object with the keys id, rank"]),
])
def test_the_names_that_are_there(sandpiper, serve, dialect, code, facts):
    data = dict(DATA, customers=DATA["customers"][:3])
    text = told(sandpiper, serve, ["data = %r\n%s" % (data, code)], dialect)[0]
    for fact in facts:
        assert fact in text, text


@pytest.mark.slow(3)
def test_columns_of_other_frames(sandpiper, serve):
    first = "try:\n    import pandas as pd\nexcept ImportError:\n    print('none')"
    code = ("customers, orders = pd.DataFrame({'id': [1], 'country': ['X']}), pd.DataFrame({'no': [1]})\n"
            "orders[orders['country'] == 'X']")
    text = told(sandpiper, serve, [first, code], "native")
    if "none" in text[0]:
        pytest.skip("no pandas in the sandbox")
    assert "columns of orders: no" in text[1] and "country is in customers" in text[1]


FRAMES = ("customers = pd.DataFrame({'id': [1, 2], 'country': ['X', 'Y']})\n"
          "orders = pd.DataFrame({'customer_id': [1, 1], 'total': [2.5, 3.5]})\n"
          "wide = pd.DataFrame({'col_%03d' % i: [i] for i in range(300)})\n")


@pytest.mark.asan_once
@pytest.mark.slow(3)
@pytest.mark.parametrize("code, facts", [
    ("orders.groupby('country')['total'].sum()", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders.sort_values('country')", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders[['total', 'country']]", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders[['country']]", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders.set_index('country')", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders.drop(columns=['country'])", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("customers.groupby('country')['total'].sum()", ["columns of customers: id, country\n", "total is in orders\n"]),
    ("orders.country.unique()", ["columns of orders: customer_id, total\n", "country is in customers\n"]),
    ("orders.amount.sum()", ["columns of orders: customer_id, total\n"]),
    ("def f(t):\n    return t.groupby('country').size()\nf(orders)", ["columns of t: customer_id, total\n", "country is in customers\n"]),
    ("orders[orders['total'].idxmin()]", ["columns of orders: customer_id, total\n", "orders[0] would be a column; the row is orders.loc[0]\n"]),
    ("wide['col_29']", ["columns of wide: col_29", "col_000, ", "(300 in all)\n"]),
    ("{'k%d' % i: {'v': 1} for i in range(324)}['x']", []),
    ("d = {'k%d' % i: {'v': 1} for i in range(324)}\nd['x']", ["keys of d: k0, k1, ", "(324 in all)\n"]),
])
def test_columns_where_pandas_looked_for_them(sandpiper, serve, code, facts):
    """Whichever of its methods was given the name, the frame is named as the code names it; a count is the count."""
    first = "try:\n    import pandas as pd\nexcept ImportError:\n    print('none')"
    text = told(sandpiper, serve, [first, FRAMES + code], "native")
    if "none" in text[0]:
        pytest.skip("no pandas in the sandbox")
    for fact in facts:
        assert fact in text[1] + "\n", text[1]
    assert "(200 in all)" not in text[1] and "1 in all" not in text[1], text[1]


PEOPLE = ("import pandas as pd\npeople = pd.DataFrame({'town': ['Bonn', 'Ghent'], 'number': [1042, 7]})\n")


@pytest.mark.asan_once
@pytest.mark.slow(5)
@pytest.mark.parametrize("code, fact", [
    ("people['Ghent']", "'Ghent' is a value in people['town']; its rows: people[people['town'] == 'Ghent']"),
    ("people.loc[1042]", "1042 is a value in people['number']"),
    ("people.loc[1043]", "columns of people: town, number"),
])
def test_the_key_is_a_value_in_a_column(sandpiper, serve, code, fact):
    text = told(sandpiper, serve, ["try:\n    import pandas as pd\nexcept ImportError:\n    print('none')", PEOPLE + code],
                "native")
    if "none" in text[0]:
        pytest.skip("no pandas in the sandbox")
    assert fact in text[1], text[1]
    assert ("is a value" in text[1]) == ("is a value" in fact), text[1]


WIDE = """
import pandas as pd
looked_at, tolist = [], pd.Series.tolist
pd.Series.tolist = lambda self: looked_at.append(len(self)) or tolist(self)
numbers = pd.DataFrame({i: range(200000) for i in range(20)})
texts = pd.DataFrame({i: ['a'] * 200000 for i in range(20)})
texts['Ghent']
"""


@pytest.mark.slow(3)
def test_the_search_for_a_value_ends(sandpiper, serve):
    """Columns that cannot hold it are passed over, and of the others a million values are looked at: a tenth of a second, not five."""
    text = told(sandpiper, serve, ["try:\n    import pandas as pd\nexcept ImportError:\n    print('none')", WIDE, "print(sum(looked_at))"], "native")
    if "none" in text[0]:
        pytest.skip("no pandas in the sandbox")
    assert "KeyError: 'Ghent'" in text[1] and "1000000" in text[2], text


@pytest.mark.asan_once
@pytest.mark.slow(3)
@pytest.mark.parametrize("code, fact", [
    ("d = {'towns': [{'name': 'Bonn'}, {'name': 'Ghent', 'people': 9}]}\nd['Ghent']",
     "'Ghent' is the value of 'name' in d['towns'][1]"),
    ("d = {'a': {'n': 3}}\nd[3]", "keys of d: a\nkeys of d['a']: n\n\n"),      # a small number is a value of anything
    ("import datetime\ndatetime.time(13, 05)", "a number is written without zeros in front: datetime.time(13, 5)"),
    ("import datetime\na, b = datetime.time(15, 5), datetime.time(8)\nd = (a - b).seconds",
     "import datetime as dt\nd = (dt.datetime.combine(dt.date.min, a) - dt.datetime.combine(dt.date.min, b)).seconds"),
    ("import datetime\ndatetime.time(15, 5) - datetime.time(8)", "a datetime.time cannot be added or subtracted\n"),
    ("import datetime\ndatetime.strptime('1', '%d')", "it is datetime.datetime.strptime"),
    ("from datetime import datetime\ndatetime.timedelta(1)", "not imported: from datetime import timedelta"),
    ("timedelta(days=1)", "not imported: from datetime import timedelta"),
    ("d = {'patients': [{'age': 5}]}\n[patient['age'] for ward in [d]]", "ward['patients'] has many: for patient in ward['patients']"),
    ("cities = [1]\nprint(city)", "cities has many: for city in cities"),
    ("d = {'boxes': {'a': 1}}\nprint(box)", "d['boxes'] has many: for box in d['boxes'].values()"),
    ("pritn(1)", "names like it: print"),
    ("patient = 1\ndel patient\nprint(patient)", "no variables are defined yet"),
    ("zipfile.ZipFile('a')", "not imported: import zipfile"),
    ("factorial(5)", "not imported: from math import factorial"),
])
def test_what_was_meant(sandpiper, serve, code, fact):
    text = told(sandpiper, serve, [code], "blocks")[0]
    assert fact in text, text


@pytest.mark.asan_once
@pytest.mark.parametrize("code, fact", [
    ("s = {'fee': '1,800 EUR'}\nif s['fee'] > 0: pass", "s['fee'] is the text '1,800 EUR'; as a number: float(s['fee'].replace(' EUR', '').replace(',', ''))"),
    ("s = {'fee': '1.800,50 €'}\nint(s['fee'])", "a number in place of '1.800,50 €': float(s['fee'].replace(' €', '').replace('.', '').replace(',', '.'))"),
    ("s = {'fee': '52%'}\nx = float(s['fee']) * 2", "a number in place of '52%': float(s['fee'].replace('%', ''))"),
    ("r, t = {'a': '5'}, 0\nt += r['a']", "r['a'] is the text '5'; as a number: float(r['a'])"),
    ("data = [{}, {'a': '5'}]\nsum(r['a'] for r in data[1:])", None),
    ("data = [{'b': 1}, {'a': '5.2'}]\nsum(r['a'] for r in data if 'a' in r)", "r['a'] is the text '5.2'; as a number: float(r['a'])"),
    ("data = [{'a': 1}, {'b': 2}, {'a': 3}]\nsum(r['a'] for r in data)", "'a' is in 2 of the 3 objects of data; r.get('a', 0) is 0 where it is missing"),
    ("data = [{'b': 2}]\nfor r in data: r['a']", None),
    ("int('two')", None),
    ("int('2m 35s')", None),
    ("'a' + 5", None),
    ("[] > 5", None),
])
def test_text_where_a_number_was_meant(sandpiper, serve, code, fact):
    text = told(sandpiper, serve, [code], "blocks")[0]
    assert fact in text if fact else not re.search("as a number|in place of|where it is missing", text), text


@pytest.mark.asan_once
@pytest.mark.slow(3)
@pytest.mark.parametrize("code, fact", [
    ("df['fee'].str.strip()", "df['fee'] holds float64, not text: 1.5, 2.5"),
    ("df['end'].dt.hour", "df['end'] holds text: '14:00', '8:30'; a column of another type: pd.to_timedelta(df['end'] + ':00')"),
    ("df.took.dt.total_seconds()", "df.took holds text: '2m 35s', '1m'; a column of another type: pd.to_timedelta(df.took)"),
    ("df['day'].dt.year", "df['day'] holds text: '2024-01-02', '3 May 2024'; a column of another type: pd.to_datetime(df['day'])"),
    ("df.rename(columns={'fee': 'client.fee'}, inplace=True)\ndf['client']['fee']", "of client there are df['client.fee']"),
    ("df['fee'].dt.year", "df['fee'] holds float64, not dates: 1.5, 2.5"),
    ("df['took'].astype(float)", "a number in place of '2m 35s': pd.to_timedelta(df['took'])"),
    ("df['paid'].astype(float)", "a number in place of '$1,200.50': df['paid'].str.replace('$', '', regex=False).str.replace(',', '', regex=False).astype(float)"),
    ("pd.to_numeric(df['paid'])", "a number in place of '$1,200.50': df['paid'].str.replace('$', '', regex=False)"),
])
def test_a_column_of_another_type(sandpiper, serve, code, fact):
    make = ("import pandas as pd\ndf = pd.DataFrame({'fee': [1.5, 2.5], 'end': ['14:00', '8:30'], 'took': ['2m 35s', '1m'], "
            "'day': ['2024-01-02', '3 May 2024'], 'paid': ['$1,200.50', '$3']})\n")
    text = told(sandpiper, serve, [make + code], "blocks")[0]
    if "No module named 'pandas'" in text:
        pytest.skip("no pandas in the sandbox")
    assert fact in text and "type Series has" not in text, text


def test_hostile_objects_do_not_run_for_a_hint(sandpiper, serve):
    code = ("class D(dict):\n    def keys(self): raise SystemExit(9)\n"
            "    def __contains__(self, k): raise SystemExit(9)\n"
            "d, deep = D(a=1), {}\nfor i in range(5000): deep = {'x': deep}\nd['b']")
    text = told(sandpiper, serve, [code], "native")[0]
    assert "KeyError: 'b'" in text and "keys of d: a" in text, text


@BOTH
def test_the_same_failing_code_shows_the_data(sandpiper, serve, dialect):
    path = sandpiper.write("trade.json", json.dumps(DATA))
    code = READ + "\nprint(data['orders'][0]['quantity'])"
    first, again = told(sandpiper, serve, [code, code], dialect, "--add", path)
    assert "KeyError: 'quantity'" in first and LEAF not in first.split("Your code failed")[-1]
    shown = again.split("KeyError")[-1]         # in the dialect of blocks the question stands before it
    assert LEAF in shown and READ in shown and "customers: 200 rows" in shown, again


@pytest.mark.slow(3)
@BOTH
@pytest.mark.parametrize("code, before", [
    ("print(len(data['orders']))", READ + TABLES),
    ("data = [7]\nprint(len(data) + 199)", ""),
    (OWN + "\nprint(len(data['orders']))", ""),
    (OWN.partition("; ")[2] + "\nprint(len(data['orders']))", "import json, pandas as pd\n"),
    ("import json as j\n" + OWN.partition("; ")[2].replace("json.", "j.") + "\nprint(len(data['orders']))", ""),
    ("class A: data = 1\nprint(199 + A.data, '/mnt/data')", ""),
    ("for data in [200]: print(data)", ""),
])
def test_a_file_that_was_not_read(sandpiper, serve, dialect, code, before):
    """The lines of the profile stand in front of code that takes them for run, where the user sees them; once, and
    never where the code makes that name itself. Where it does and has only forgotten the import, it gets that."""
    path = sandpiper.write("trade.json", json.dumps(DATA))
    again = "try: print(data)\nexcept NameError: print(1)"
    r, bodies = session(sandpiper, serve, [code, again], dialect, "--add", path, "--json")
    ran = [e["code"].rstrip() for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_call"]
    assert ran == [before + code, again]
    assert "200" in bodies[1]["messages"][-1]["content"]


FEES = "request,fee\n" + "".join("%d,$%d.50\n" % (i, i) for i in range(90))
FEE = r"df['fee'] = pd.to_numeric(df['fee'].str.replace(r'\$|\s', '', regex=True))"


@BOTH
def test_lines_that_have_run_do_not_run_again(sandpiper, serve, dialect):
    """A small model copies the line that makes numbers of a column, which finds numbers the second time. Where the code
    reads the file itself, it is needed."""
    path = sandpiper.write("fees.csv", FEES)
    read = "import pandas as pd\ndf = pd.read_csv('/mnt/data/fees.csv')\n"
    codes = [FEE + "\nprint('first', df['fee'].sum())", FEE + "\nprint('second', df['fee'].sum())",
             read + FEE + "\nprint('third', df['fee'].sum())", "import pandas as pd\n" + FEE + "\nprint('fourth', df['fee'].sum())"]
    r, bodies = session(sandpiper, serve, codes, dialect, "--add", path, "--json")
    if "import pandas" not in json.dumps(bodies[0]):
        pytest.skip("no pandas in the sandbox")
    ran = [e["code"].rstrip() for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_call"]
    assert FEE in json.dumps(bodies[0]["messages"][-1]["content"]).replace("\\\\", "\\")
    assert [c.count(FEE) for c in ran] == [1, 0, 1, 1] and "line 2" in json.dumps(bodies[4]), ran
    assert all("%s 4050.0" % word in json.dumps(bodies[i]["messages"]) for i, word in enumerate(("first", "second", "third"), 1)), r


def test_a_few_of_the_lines_that_read_a_file_become_all(sandpiper, serve):
    """A model copies the line of the table that it needs, but not the connection above it."""
    path = sandpiper.path("work/club.db")
    con = sqlite3.connect(path)
    con.execute("create table members (id integer, town text)")
    con.executemany("insert into members values (?, ?)", [(i, "T%d" % (i % 3)) for i in range(30)])
    con.commit()
    line = "members = pd.read_sql('SELECT * FROM members', con)"
    r, bodies = session(sandpiper, serve, [line + "\nprint('found', len(members[members['town'] == 'T1']))", line + "\nprint('again', len(members))"],
                        "blocks", "--add", path, "--json")
    if line not in bodies[0]["messages"][-1]["content"]:
        pytest.skip("no pandas in the sandbox")
    assert "found 10" in bodies[1]["messages"][-1]["content"] and "again 30" in bodies[2]["messages"][-1]["content"], r
    ran = [e["code"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_call"]
    assert [c.count(line) for c in ran] == [1, 1] and ran[0].startswith("import sqlite3, pandas as pd; con = "), ran


def test_after_a_restart_a_file_is_read_again(sandpiper, serve):
    """Its variables went with the interpreter."""
    path = sandpiper.write("trade.json", json.dumps(DATA))
    count = "print('orders', len(data['orders']))"
    r, bodies = session(sandpiper, serve, [count, "import os; os._exit(3)", count + " # again"], "native", "--no-snapshots", "--add", path)
    assert "all variables and imports are lost" in json.dumps(bodies[2]) and "orders 200" in bodies[3]["messages"][-1]["content"], (r, bodies[3]["messages"][-1])


@pytest.mark.slow(3)
def test_a_folder_whose_files_are_one_table_is_read(sandpiper, serve):
    os.mkdir(sandpiper.path("work/fees"))
    for month in range(3):
        sandpiper.write("fees/2024-%d.csv" % month, FEES)
    r, bodies = session(sandpiper, serve, ["print(df['fee'].sum())"], "native", "--add", "fees", "--json")
    if "pandas as pd" not in json.dumps(bodies[0]):
        pytest.skip("no pandas in the sandbox")
    assert "%.1f" % (3 * sum(i + .5 for i in range(90))) in bodies[1]["messages"][-1]["content"], r


@pytest.mark.slow(3)
def test_a_member_of_an_archive_is_read(sandpiper, serve):
    """Also a database, which has to be unpacked where a small sandbox has little room."""
    path = sandpiper.path("work/fees.db")
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE fees (request INT, fee REAL, note TEXT)")
        con.executemany("INSERT INTO fees VALUES (?, ?, ?)", [(i, i + .5, "x" * 30000) for i in range(90)])
    con.close()
    with zipfile.ZipFile(sandpiper.path("work/fees.zip"), "w", zipfile.ZIP_DEFLATED) as z:
        z.write(path, "fees.db")
        z.writestr("README.txt", "read me\n" * 1000)
    r, bodies = session(sandpiper, serve, ["print(fees['fee'].sum())"], "native", "--add", "fees.zip", "--memory", "128m", "--json")
    if "pandas as pd" not in json.dumps(bodies[0]):
        pytest.skip("no pandas in the sandbox")
    assert "4050.0" in bodies[1]["messages"][-1]["content"] and "not kept" not in r.out + r.err, r


@BOTH
def test_two_files_have_variables_of_their_own(sandpiper, serve, dialect):
    """The first one too, which was described before the second came."""
    files = [sandpiper.write("trade.json", json.dumps(DATA)), sandpiper.write("rooms.json", json.dumps({"rooms": [1, 2, 3] * 900})),
             sandpiper.write("third.json", json.dumps({"a": [{"b": 1}] * 900}))]
    code = "print(len(trade['orders']), len(rooms['rooms']), len(third))"
    r, bodies = session(sandpiper, serve, [code], dialect, "--json", *(a for path in files for a in ("--add", path)))
    ran = [e["code"].rstrip() for e in map(json.loads, r.out.splitlines()) if e["type"] == "tool_call"]
    assert ran[0].endswith(code) and "import json; rooms = json.load(open('/mnt/data/rooms.json'))\n" in ran[0], ran
    assert not re.search(r"\bdata(\[| =)", ran[0]) and "\ncustomers = pd.DataFrame(trade['customers'])\n" in ran[0] and "; third_data = json.load(" in ran[0], ran
    asked = bodies[0]["messages"][-1]["content"]
    assert not re.search(r"\bdata = ", asked) and asked.count("Attached file") == 3 and "200 2700 900" in bodies[1]["messages"][-1]["content"]


@pytest.mark.slow(3)
def test_a_table_is_joined_with_the_one_before(sandpiper, serve):
    """Its lines read both, so code may go on from there."""
    files = [sandpiper.write("shops.csv", "shop,town\n" + "".join("%d,T%d\n" % (i, i % 3) for i in range(9))),
             sandpiper.write("sales.csv", "day,shop,units\n" + "".join("%d,%d,2\n" % (i, i % 9) for i in range(90)))]
    code = "print('sum', both[both['town'] == 'T1']['units'].sum())"
    r, bodies = session(sandpiper, serve, [code], "blocks", "--add", files[0], "--add", files[1])
    asked, told = bodies[0]["messages"][-1]["content"], bodies[1]["messages"][-1]["content"]
    if "import pandas" not in asked:
        pytest.skip("no pandas in the sandbox")
    assert "shops = pd.read_csv('/mnt/data/shops.csv')\n9 rows" in asked.replace("shops: 9 rows", "9 rows"), asked
    assert "both = sales.merge(shops, on='shop')  # 90 rows\nsales: 90 rows, columns: " in asked and "sum 60" in told, (asked, told)


@pytest.mark.slow(3)
@BOTH
def test_lines_that_are_not_json_are_left_out(sandpiper, serve, dialect):
    """The code that reads such a file has a loop, which is put in front of the model's code as a whole."""
    path = sandpiper.write("log.jsonl", "".join('{"n": %d, "who": "someone"}\n' % i for i in range(300)) + "broken\n")
    r, bodies = session(sandpiper, serve, ["print('records', len(data))"], dialect, "--add", path)
    assert "records 300" in bodies[1]["messages"][-1]["content"], bodies[1]


@pytest.mark.slow(3)
def test_a_profile_stays_with_its_question(sandpiper, serve):
    """Also where words are wanted and no more code: what the service has read of the question is not read anew."""
    path = sandpiper.write("trade.json", json.dumps(DATA))
    for codes in (["1/0", "print(42)"], ["1/0", "2/0", "3/0", "4/0"]):
        _, bodies = session(sandpiper, serve, codes, "blocks", "--add", path)
        asked = [b["messages"][1]["content"] for b in bodies]
        assert LEAF in asked[0] and "How many?" in asked[0] and asked[:len(codes)] == asked[:1] * len(codes), asked
        assert asked[-1].startswith(asked[0])


def test_a_question_that_has_cost_enough_is_not_mended(sandpiper, serve):
    """repair_tokens of the profile; other questions get as many repairs as ever."""
    sandpiper.configure("models:\n  m: {dialect: blocks, repair_tokens: 20}\n")
    server = serve(sandpiper, [reply("1/0", "blocks"), {"answer": {"text": "It failed."}}], model="m")
    r = sandpiper.run("How many?")
    assert r.code == 4 and "It failed." in r.out and "the code still failed after 0 repairs" in r.err, r
    assert "No more code will be run" in server.bodies()[1]["messages"][-1]["content"]


def test_a_small_file_that_is_shown_whole_stays(sandpiper, serve):
    path = sandpiper.write("note.txt", "The word is lantern.\n")
    _, bodies = session(sandpiper, serve, ["print(1)"], "blocks", "--add", path)
    assert "lantern" in bodies[1]["messages"][1]["content"]
