"""test_manual.py - the manual page says what the program does: every member of every event, every exit code; completion offers every option."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BIN, TREE

PAGE = open(os.path.join(TREE, "docs", "sandpiper.1")).read()


def section(title):
    return re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % title, PAGE, re.M | re.S).group(1)


def items():
    """EVENTS of the page: type -> its members."""
    found = {}
    for item in re.split(r"^\.It Li ", section("EVENTS"), flags=re.M)[1:]:
        name, rest = item.split("\n", 1)
        found[name] = set(re.findall(r"^\.Li (\w+)", rest, re.M))
    return found


def members(event):
    """What the page must name: members, and those inside usage."""
    own = {k for k in event if k not in ("type", "v", "question")}
    return own | (set(event["usage"]) if isinstance(event.get("usage"), dict) else set())


def test_every_event_is_in_the_page(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "Computing.", "calls": [{"code": "import sys\nprint('out')\nopen('f.txt','w').write('hi')\n6 * 7"}]}},
                      {"answer": {"text": "It is 42.", "usage": [30, 5]}}])
    sandpiper.write(".env", "SANDPIPER_SYSTEM=x\n")         # gives a notice
    os.chmod(os.path.join(sandpiper.work, ".env"), 0o600)
    r = sandpiper.run("--json", "go")
    assert r.code == 0, r
    page, seen = items(), {}
    for line in r.out.splitlines():
        event = json.loads(line)
        seen.setdefault(event["type"], set()).update(members(event))
    assert set(seen) == set(page), (sorted(seen), sorted(page))
    for kind in seen:
        assert seen[kind] == page[kind], kind


def test_exit_codes_are_the_same_in_page_and_help(bare):
    codes = set(re.findall(r"^\.It (\d+)$", section("EXIT STATUS"), re.M))
    assert codes == {"0", "1", "2", "3", "4", "5", "75", "77", "130", "141", "143"}
    named = set(re.findall(r"\b\d+\b", bare.run("--help").out.split("Exit codes:")[1].split("Configuration")[0]))
    assert named and named <= codes


def test_the_lists_of_providers_are_current():
    """README's table and the page's list are made from providers.yaml."""
    r = subprocess.run(["/usr/bin/python3", os.path.join(TREE, "src", "setup", "providers_table.py"), "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def test_the_page_is_well_formed():
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not here")
    r = subprocess.run(["mandoc", "-Tlint", "-W", "warning", os.path.join(TREE, "docs", "sandpiper.1")], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr


def complete(*words):
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sandpiper; printf "%s\\n" "${COMPREPLY[@]}"'
    r = subprocess.run(["bash", "-c", script, os.path.join(TREE, "docs", "sandpiper.bash"), BIN, *words], capture_output=True, text=True, timeout=20)
    return set(r.stdout.split())


def complete_line(program, line):
    """As bash calls it: the words cut where it cuts them, and the line as it was typed. What is put behind the last cut."""
    script = ('source "$0"; COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sandpiper; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    words = [w for w in re.split(r"\s+|([:=@])", line) if w] + ([""] if line[-1] == " " else [])
    r = subprocess.run(["bash", "-c", script, os.path.join(TREE, "docs", "sandpiper.bash"), line, BIN, *words[1:]], capture_output=True, text=True,
                       timeout=20, env=program.env())
    return set(r.stdout.split())


def test_models_are_completed_from_the_list_that_was_kept(bare, serve):
    server = serve(bare)
    server.others["/v1/models"] = {"data": [{"id": i} for i in ("qwen3.5:4b", "qwen3.5:9b", "gemma4:e4b", "@cf/openai/gpt-oss-120b",
                                                                "$(touch pwned)", "`touch pwned`", "x;touch pwned", "x;y")]}
    assert complete_line(bare, "sandpiper -m ") == set()
    assert bare.run("models").code == 0
    asked = len(server.asides)
    assert complete_line(bare, "sandpiper -m ") == {"qwen3.5:4b", "qwen3.5:9b", "gemma4:e4b", "@cf/openai/gpt-oss-120b"}
    assert complete_line(bare, "sandpiper --model qwen3.5:") == {"4b", "9b"}
    assert complete_line(bare, "sandpiper -q --model qwen3.5:4") == {"4b"}
    assert complete_line(bare, "sandpiper -m @cf/o") == {"cf/openai/gpt-oss-120b"}
    assert complete_line(bare, "sandpiper --base-url http://127.0.0.1:9/v1 -m ") == set()
    assert complete_line(bare, "sandpiper -m gemma4:e4b --sandbox d") == {"docker"}
    assert len(server.asides) == asked and not os.path.exists("pwned") and os.listdir(bare.work) == []


def test_completion(bare):
    flags = set(re.findall(r"^  .{4}(--[a-z-]+)", bare.run("help", "all").out, re.M))
    assert len(flags) > 25 and complete("-") == flags
    assert complete("--mo") == {"--model"}
    assert complete("--sandbox", "d") == {"docker"}
    assert complete("e") == {"exec"}
    for flag in ("--api", "--color", "--dialect", "--reasoning-effort", "--sandbox", "--stdin"):
        choices = re.search(r"one of (\S+),", bare.run(flag, "?", "q").err).group(1)
        assert complete(flag, "") == set(choices.split("|")), flag
    commands = set(re.search("there are: (.*)", bare.run("help", "x").err).group(1).replace(",", "").split())
    assert complete("help", "") == commands and complete("") == commands - {"all"} | {"help"}
    of_exec = set(re.findall(r"^  .{4}(--[a-z-]+)", bare.run("exec", "--help").out, re.M))
    assert {"--dry-run", "--memory"} <= of_exec < flags and complete("exec", "-") == of_exec
