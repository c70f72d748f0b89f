"""A receipt of a session, and the rerun of it: by a colleague in another folder, with data that has changed, with an output that was altered, and
by whoever is given a stranger's receipt."""
import json
import os
import signal
import time

import event_schema
from chat_keys import leave, start

CSV = "city,sold\nOslo,12\nBergen,30\nOslo,5\n"
LOAD = "import csv\nrows = list(csv.DictReader(open('orders.csv')))\nprint(len(rows), 'rows')"
SUM = "total = sum(int(r['sold']) for r in rows if r['city'] == 'Oslo')\nopen('oslo.txt', 'w').write(str(total))\nprint('Oslo', total)\ntotal"


def code(text):
    return {"answer": {"calls": [{"name": "execute_python", "arguments": {"code": text}}]}}


def text(answer):
    return {"answer": {"text": answer}}


def ask(s, serve, *pieces, answer="Oslo sold 17.", add=("orders.csv",), question="how much did Oslo sell?"):
    """A question of so many pieces of code; its receipt, as a path and as what it holds."""
    serve(s, [code(p) for p in pieces] + [text(answer)])
    for name in add:
        with open(os.path.join(s.work, name), "w", encoding="utf-8") as f:
            f.write(CSV)
    r = s.run(*[word for name in add for word in ("--add", name)], question)
    assert r.out == answer + "\n", r
    r = s.run("receipt", "-o", "r.json")
    assert r.code == 0 and r.out == "", r
    path = os.path.join(s.work, "r.json")
    with open(path, encoding="utf-8") as f:
        return path, json.load(f)


def elsewhere(s, receipt, *names):
    """A colleague's folder with the receipt and these files."""
    folder = os.path.join(s.dir, "colleague")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "r.json"), "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    for name in names:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(CSV)
    return folder


def test_a_colleague_repeats_an_answer(sandpiper_on, serve):
    s = sandpiper_on
    _, receipt = ask(s, serve, LOAD, SUM)
    assert [p["stdout"] for p in receipt["code"]] == ["3 rows\n", "Oslo 17\n"] and receipt["code"][1]["value"] == "17", receipt
    assert receipt["places"][0]["engine"] in s.engine and receipt["places"][0]["python"].count(".") == 2, receipt["places"]
    folder = elsewhere(s, receipt, "orders.csv")
    r = s.run("rerun", "r.json", cwd=folder)
    assert (r.code, r.out) == (0, "same result: 2 pieces of code, 2 lines of output, 1 value, 1 file\n"), r
    assert r.err == "sandpiper: Running the code of r.json of %s again: 2 pieces, 1 data file\n" % receipt["made"][:10], r
    with open(os.path.join(folder, "orders.csv"), "r+", encoding="utf-8") as f:
        f.write("C")
    r = s.run("rerun", "r.json", cwd=folder)
    assert r.code == 2 and r.out == "" and r.err.startswith("sandpiper: orders.csv has changed: "), r
    os.remove(os.path.join(folder, "orders.csv"))
    r = s.run("rerun", "r.json", cwd=folder)
    assert r.code == 2 and r.out == "" and r.err.startswith("sandpiper: orders.csv was found neither beside the receipt nor in this folder"), r
    r = s.run("rerun", "--add", os.path.join(s.work, "orders.csv"), "r.json", cwd=folder)
    assert r.code == 0, r
    receipt["code"][1]["stdout"] = "Oslo 18\n"
    elsewhere(s, receipt, "orders.csv")
    r = s.run("rerun", "r.json", cwd=folder)
    assert (r.code, r.out) == (1, "different: piece 2, its output\n  receipt: Oslo 18\n  here:    Oslo 17\n"), r


def test_a_receipt_is_as_its_schema_says(sandpiper, serve):
    import jsonschema
    with open(os.path.join(os.path.dirname(event_schema.PATH), "receipt.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    _, receipt = ask(sandpiper, serve, "import numpy, json\nprint(1)", "1 / 0", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('a.txt', 'w').write('x');")
    jsonschema.Draft202012Validator(event_schema.closed(schema)).validate(receipt)
    (place,) = receipt["places"]
    assert {"numpy", "matplotlib"} <= set(place["packages"]) and "json" not in place["packages"], place
    assert receipt["questions"][0]["service"] == sandpiper.url and receipt["questions"][0]["model"] == "test-model", receipt["questions"]
    assert [p["status"] for p in receipt["code"]] == ["ok", "exception", "ok"] and receipt["code"][1]["exception"].startswith("ZeroDivisionError")
    assert [f["kind"] for f in receipt["code"][2]["files"]] == ["figure", "file"] and receipt["data"][0]["sha256"] is not None, receipt


def test_what_fails_and_what_is_drawn_is_the_same_again(sandpiper, serve):
    ask(sandpiper, serve, "x = 1\nprint(x)\n1 / 0", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint(x)", "import sys\nsys.exit(3)", add=())
    r = sandpiper.run("rerun", "r.json")
    assert (r.code, r.out) == (0, "same result: 3 pieces of code, 2 lines of output, 1 picture\n"), r


def test_what_changes_from_run_to_run(sandpiper, serve):
    """A time and an address are no difference; a random number is one where the answer has it."""
    path, receipt = ask(sandpiper, serve, "import time, random, datetime\nprint('took', time.time())\nprint(object())\nprint({'a', 'b', 'c'})\n"
                        "print(datetime.date.today())\nroll = random.random()\nprint('roll', roll)\nprint(7 * 6)", answer="It is 42.", add=())
    r = sandpiper.run("rerun", "r.json")
    assert (r.code, r.out) == (0, "same result: 1 piece of code, 4 lines of output\nchanges from run to run: piece 1, line 1 of its output; "
                                  "piece 1, line 5 of its output\n"), r
    receipt["questions"][0]["answer"] = "The roll was %.4f" % float(receipt["code"][0]["stdout"].splitlines()[4].split()[1])
    with open(path, "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    r = sandpiper.run("rerun", "r.json")
    assert r.code == 1 and r.out.startswith("different: piece 1, line 5 of its output\n  receipt: roll 0."), r


def test_the_data_has_changed_by_one_byte(sandpiper, serve):
    """Each file that is missing or has changed is named, and nothing runs."""
    _, receipt = ask(sandpiper, serve, LOAD, add=("orders.csv", "more.csv", "third.csv"))
    folder = elsewhere(sandpiper, receipt, "orders.csv", "third.csv")
    with open(os.path.join(folder, "orders.csv"), "r+", encoding="utf-8") as f:
        f.write("C")
    r = sandpiper.run("rerun", "r.json", cwd=folder)
    lines = r.err.splitlines()
    assert r.code == 2 and r.out == "" and len(lines) == 2, r
    assert lines[0] == "sandpiper: orders.csv has changed: the one in this folder has another SHA-256 than the receipt", r
    assert lines[1] == "sandpiper: more.csv was found neither beside the receipt nor in this folder; --add FILE says where it is", r
    # beside the receipt; by its bytes, under any name; in a folder
    os.rename(os.path.join(folder, "r.json"), os.path.join(sandpiper.dir, "r.json"))
    for name in ("orders.csv", "more.csv", "third.csv"):
        os.rename(os.path.join(sandpiper.work, name), os.path.join(sandpiper.dir, "x-" + name))
    assert sandpiper.run("rerun", "../r.json").code == 2
    named = [word for name in ("orders.csv", "more.csv", "third.csv") for word in ("--add", "../x-" + name)]
    assert sandpiper.run("rerun", *named, "../r.json").code == 0
    os.makedirs(os.path.join(sandpiper.dir, "all"))
    for name in ("orders.csv", "more.csv", "third.csv"):
        os.rename(os.path.join(sandpiper.dir, "x-" + name), os.path.join(sandpiper.dir, "all", name))
    assert sandpiper.run("rerun", "--add", "../all", "../r.json").code == 0
    assert sandpiper.run("rerun", "-", stdin=json.dumps(receipt), cwd=os.path.join(sandpiper.dir, "all")).code == 0


def test_data_of_a_pipe_and_a_folder(sandpiper, serve):
    """What was piped in and what lay in a folder is in the receipt too; the session's own copies have it."""
    serve(sandpiper, [code("print(open('stdin.csv').read(), open('d/sub/b.txt').read())"), text("Done.")])
    os.makedirs(os.path.join(sandpiper.work, "d", "sub"))
    sandpiper.write("d/sub/b.txt", "b")
    assert sandpiper.run("--add", "d", "what is in it?", stdin=CSV).code == 0
    r = sandpiper.run("receipt")
    assert r.code == 0 and r.err == "", r
    receipt = json.loads(r.out)
    assert sorted(f["name"] for f in receipt["data"]) == ["d/sub/b.txt", "stdin.csv"], receipt
    folder = elsewhere(sandpiper, receipt, "piped.csv")
    r = sandpiper.run("rerun", "--add", "piped.csv", "--add", sandpiper.work, "r.json", cwd=folder)
    assert r.code == 0, r


def test_data_that_is_gone_when_the_receipt_is_made(sandpiper, serve):
    sandpiper.configure("max_file: 1k\n")
    serve(sandpiper, [code("print(len(open('big.csv').read()))"), text("Long.")])
    sandpiper.write("big.csv", CSV * 1000)
    assert sandpiper.run("--add", "big.csv", "how long?").code == 0
    sandpiper.write("big.csv", CSV)
    r = sandpiper.run("receipt")
    assert r.code == 0 and r.err == "sandpiper: big.csv is no longer there as it was: the receipt has no SHA-256 of it\n", r
    assert json.loads(r.out)["data"][0]["sha256"] is None


def test_which_session(sandpiper, serve):
    serve(sandpiper, [text("Paris."), code("print(1)"), text("One.")])
    assert sandpiper.run("receipt").code == 2
    assert sandpiper.run("capital of France?").code == 0
    r = sandpiper.run("receipt")
    assert r.code == 0 and "nothing that a rerun could repeat" in r.err and json.loads(r.out)["code"] == [], r
    first = json.loads(r.out)["session"]
    r = sandpiper.run("rerun", "-", stdin=r.out)
    assert r.code == 2 and r.err == "sandpiper: - has no code, so there is nothing to run again\n", r
    assert sandpiper.run("one?").code == 0
    assert json.loads(sandpiper.run("receipt").out)["questions"][0]["text"] == "one?"
    assert json.loads(sandpiper.run("receipt", first[16:]).out)["session"] == first
    for argv, says in ((["receipt", "zz"], 'no session "zz"'), (["receipt", "a", "b"], "the ID of one session"), (["rerun"], "rerun takes one receipt"),
                       (["rerun", "none.json"], "none.json")):
        r = sandpiper.run(*argv)
        assert r.code == 2 and says in r.err and r.err.count("\n") <= 2, r


def test_a_strangers_receipt(sandpiper, serve):
    """It reaches nothing but its data: no folder of config.yaml, no network, no place outside /mnt/data; one that is no receipt costs a line."""
    path, receipt = ask(sandpiper, serve, LOAD)
    secret = os.path.join(sandpiper.dir, "secret")
    os.makedirs(secret)
    sandpiper.write("../secret/key", "the key")
    sandpiper.configure("mount: %s\n" % secret)
    receipt["code"][0]["code"] = ("import os, socket\nfor root, _, names in os.walk('/mnt'):\n    print(root, sorted(names))\n"
                                  "try:\n    socket.create_connection(('1.1.1.1', 80), 1)\nexcept OSError:\n    print('no network')")
    receipt["code"][0]["stdout"] = "/mnt []\n/mnt/data ['orders.csv']\nno network\n"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    r = sandpiper.run("rerun", "-v", "r.json")
    assert r.code == 0 and "import os, socket" in r.err, r
    assert r.err.index("piece 1 of 1:") < r.err.index("import os"), r
    for change, says in ((lambda c: c["data"][0].update(name="../../etc/passwd"), "data[0].name is no name of a file below /mnt/data"),
                         (lambda c: c["code"][0].update(code=7), "code[0].code is no string"),
                         (lambda c: c.update(receipt=2), "newer than this sandpiper"),
                         (lambda c: c.clear(), "not a receipt of sandpiper")):
        other = json.loads(json.dumps(receipt))
        change(other)
        r = sandpiper.run("rerun", "-", stdin=json.dumps(other))
        assert r.code == 2 and r.out == "" and says in r.err and r.err.count("\n") <= 2, r
    for bad in (b"", b"\xff" * 100, b"[" * 100000, b'{"receipt":' * 100000, b"\0" * 1000):
        r = sandpiper.run("rerun", "-", stdin=bad)
        assert r.code == 2 and r.out == "" and r.err.count("\n") <= 2, r
    receipt["code"][0]["stdout"] = "\x1b[31mred\n"
    r = sandpiper.run("rerun", "-", stdin=json.dumps(receipt))
    assert r.code == 1 and "\x1b" not in r.out + r.err, r


def test_another_version_is_named(sandpiper, serve):
    path, receipt = ask(sandpiper, serve, "import numpy\nprint(1)", add=())
    receipt["places"][0].update(python="3.1.4", packages={"numpy": "0.9", "never": "1"})
    with open(path, "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    r = sandpiper.run("rerun", "r.json")
    assert r.code == 0 and r.out.splitlines()[1].startswith("other versions: Python 3.1.4 (here 3."), r
    assert "numpy 0.9 (here " in r.out and "never" not in r.out, r


def test_code_that_was_taken_back_is_in_it(sandpiper, serve):
    """After /undo later code may still rest on it."""
    serve(sandpiper, [code("x = 20\nprint(x)"), text("Twenty."), code("print(x + 1)"), text("21.")])
    p = start(sandpiper)
    for line, until in (("twenty?", "Twenty."), ("/undo", "Removed the last question"), ("one more?", "21.")):
        p.sendline(line)
        p.expect(until)
    leave(p)
    receipt = json.loads(sandpiper.run("receipt").out)
    assert [(c["question"], c["stdout"]) for c in receipt["code"]] == [(None, "20\n"), (1, "21\n")], receipt
    r = sandpiper.run("rerun", "-", stdin=json.dumps(receipt))
    assert r.code == 0, r


def test_what_a_receipt_cannot_have(sandpiper, serve):
    """A mounted folder, and what was in a named sandbox before: both are told."""
    serve(sandpiper, [code("print(open('/mnt/host/m/a.txt').read())"), text("Read."), code("print(1)"), text("One.")])
    folder = os.path.join(sandpiper.work, "m")
    os.makedirs(folder)
    sandpiper.write("m/a.txt", "here")
    assert sandpiper.run("--mount", "m", "read it").code == 0
    r = sandpiper.run("receipt", "-o", "m.json")
    assert r.code == 0 and r.err == ("sandpiper: the code could read %s, which was mounted: its files are not in the receipt (rerun --mount gives them "
                                     "again)\n" % folder), r
    r = sandpiper.run("rerun", "m.json")
    assert r.code == 1 and "piece 1, " in r.out, r
    assert sandpiper.run("rerun", "--mount", "m", "m.json").code == 0
    assert sandpiper.run("--allow-net", "a.example", "--sandbox-name", "kept", "one?").code == 0
    r = sandpiper.run("receipt")
    assert r.err == ("sandpiper: the code could reach a.example (--allow-net): what came from there is not in the receipt, and rerun has no network\n"
                     'sandpiper: the code ran in the sandbox "kept": what was in it before is not in the receipt\n'), r
    assert sandpiper.run("rm", "kept").code == 0


def test_any_bytes_are_the_same_again(sandpiper, serve):
    """NUL, bytes that are no UTF-8, characters that come in two pieces, more than is saved."""
    ask(sandpiper, serve, "import sys, time\nout = sys.stdout.buffer\nout.write(b'a\\0b\\xff\\n')\nfor i in range(3):\n    out.write(b'\\xc3')\n"
        "    out.flush()\n    time.sleep(0.3)\n    out.write(b'\\xa9\\n')\n    out.flush()", "print('\u00e9' * 700000)\nprint('end')", "print('x' * 5)\nsys.stderr.write('e' * 9)", add=())
    r = sandpiper.run("rerun", "r.json")
    assert r.code == 0 and r.out.startswith("same result: 3 pieces of code"), r
    with open(os.path.join(sandpiper.work, "r.json"), encoding="utf-8") as f:
        receipt = json.load(f)
    assert receipt["code"][0]["stdout"].endswith("\n\u00e9\n\u00e9\n\u00e9\n"), receipt["code"][0]


def test_a_rerun_is_interrupted(sandpiper, serve):
    """Ctrl-C ends it whatever its code does, and so does its time."""
    path, receipt = ask(sandpiper, serve, "print(1)", add=())
    receipt["code"][0]["code"] = "import time\nopen('begun', 'w').close()\nwhile True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    p = sandpiper.start("rerun", "r.json")
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=20)
    assert p.returncode == 130 and out == b"", (p.returncode, out)
    receipt["code"][0].update(code="while True: pass", stdout="")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(receipt, f)
    r = sandpiper.run("rerun", "--timeout", "1s", "r.json")
    assert (r.code, r.out) == (1, "different: piece 1, how it ended\n  receipt: ok\n  here:    timeout\n"), r
