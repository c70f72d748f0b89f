"""test_manual.py - the manual pages say what the program does: every member of every event, every exit code; completion offers every option."""
import glob
import json
import os
import re
import shutil
import subprocess

import pexpect
import pytest

import event_schema
from conftest import BIN, TREE

pytestmark = pytest.mark.no_asan

PAGES = {os.path.basename(path): open(path).read() for path in glob.glob(os.path.join(TREE, "docs", "sandpiper*.[15]"))}


def section(page, title):
    return re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % title, PAGES[page], re.M | re.S).group(1)


def items():
    """EVENTS of sandpiper-events(5): type -> its members."""
    found = {}
    for item in re.split(r"^\.It Li ", section("sandpiper-events.5", "EVENTS"), flags=re.M)[1:]:
        name, rest = item.split("\n", 1)
        found[name] = set(re.findall(r"^\.Li (\w+)", rest, re.M))
    return found


def listed(command):
    """LISTS of sandpiper-events(5): the members of what this command prints."""
    text = re.search(r"^\.Nm sandpiper Cm %s Fl [^\n]*\n(.*?)(?=^\.Pp|\Z)" % command, section("sandpiper-events.5", "LISTS"), re.M | re.S)[1]
    return set(re.findall(r"\w+", " ".join(re.findall(r"^\.Li (.*)", text, re.M)))) - {"path", "inside", "writable"}


def members(event):
    """What the page must name: members, and those inside usage and computed."""
    own = {k for k in event if k not in ("type", "v", "question")}
    return own.union(*(event[name] for name in ("usage", "computed") if isinstance(event.get(name), dict)))


ALL_KINDS = """import sys, urllib.request
print('out')
open('f.txt','w').write('hi')
try: urllib.request.urlopen('http://b.example')
except OSError: pass
6 * 7"""


def test_every_event_is_in_the_page(sandpiper, serve):
    serve(sandpiper, [{"answer": {"text": "Computing.", "calls": [{"code": ALL_KINDS}]}},
                      {"answer": {"text": "It is 42.", "usage": [30, 5]}}])
    sandpiper.write(".env", "SANDPIPER_SYSTEM=x\n")         # gives a notice
    os.chmod(os.path.join(sandpiper.work, ".env"), 0o600)
    r = sandpiper.run("--json", "--allow-net", "a.example", "go")
    assert r.code == 0, r
    page, seen = items(), {}
    for line in r.out.splitlines():
        event = json.loads(line)
        seen.setdefault(event["type"], set()).update(members(event))
    assert set(seen) == set(page), (sorted(seen), sorted(page))
    for kind in seen:
        assert seen[kind] == page[kind], kind


def test_the_schema_and_help_json_have_what_the_page_has(bare):
    import jsonschema
    jsonschema.Draft202012Validator.check_schema(event_schema.SCHEMA)
    page, text = items(), bare.run("help", "json").out
    rows = re.findall(r"^(\w+) +(.*(?:\n {13}.*)*)", text[text.index("session  "):text.index("    sandpiper")], re.M)
    told = {name: set(re.findall(r"\b[a-z_]+\b", re.sub(r": (a piece.*|of one request|the last line|(the value|of a figure,) as a MIME bundle)", "", words))) for name, words in rows}
    schema = {}
    names = [d["$ref"].rpartition("/")[2] for d in event_schema.SCHEMA["oneOf"]]
    for name in names:
        event = event_schema.SCHEMA["$defs"][name]
        own = event["properties"]
        schema[name] = (set(own) - {"type", "v", "question", "agent"}).union(*(own.get(inner, {}).get("properties", {}) for inner in ("usage", "computed")))
        assert event["required"] == [m for m in own if m != "agent"], name
    assert schema == page and told == page
    assert names == [name for name in event_schema.SCHEMA["$defs"] if name not in ("bundle", "cell", "error", "result")]


def test_a_member_that_the_schema_lacks_is_seen():
    line = {"type": "session_end", "v": 1, "question": 1, "exit_code": 0}
    event_schema.check(json.dumps(line))
    for bad in (dict(line, more=1), dict(line, exit_code="0"), dict(line, type="new"), {k: line[k] for k in ("type", "v", "question")}):
        with pytest.raises(AssertionError):
            event_schema.check(json.dumps(bad))


def test_the_page_has_what_the_lists_print(sandpiper, serve):
    """LISTS of sandpiper-events(5): the members of each object, by the command that prints it."""
    serve(sandpiper, [{"answer": {"text": "Two swallows."}}])
    assert sandpiper.run("how many?").code == 0
    assert sandpiper.run("exec", "--sandbox-name", "lists", "-c", "1").code == 0
    for words, name in ((["models"], "models"), (["ps"], "ps"), (["sessions", "search", "swallows"], "sessions")):
        r = sandpiper.run(*words, "--json")
        assert r.out and set(json.loads(r.out.splitlines()[0])) == listed(name), r
    assert sandpiper.run("rm", "lists").code == 0


def test_the_page_has_the_commands_of_the_chat(bare):
    in_help = re.findall(r"^/[a-z]+", bare.run("help", "chat").out, re.M)
    assert in_help and sorted(re.findall(r"^\.It Li (/[a-z]+)", section("sandpiper-commands.1", "CHAT"), re.M)) == sorted(in_help)


def test_the_first_page_names_every_command(bare):
    commands = set(re.search("there are: (.*)", bare.run("help", "x").err).group(1).replace(",", "").split()) - {"all", "json", "agents", "engines"}
    named = re.findall(r"\w+", " ".join(re.findall(r"^\.(?:It )?Cm (.*)", section("sandpiper.1", "COMMANDS"), re.M)))
    assert {"exec", "batch", "help"} <= commands <= set(named)


def test_exit_codes_are_the_same_in_page_and_help(bare):
    codes = set(re.findall(r"^\.It (\d+)$", section("sandpiper.1", "EXIT STATUS"), re.M))
    assert codes == {"0", "1", "2", "3", "4", "5", "6", "75", "77", "124", "125", "130", "137", "141", "143"}
    named = set(re.findall(r"\b\d+\b", bare.run("--help").out.split("Exit codes:")[1].split("Configuration")[0]))
    assert named and named <= codes


def test_the_lists_of_providers_are_current():
    """The table of docs/SERVICES.md and the list of sandpiper-config(5) are made from providers.yaml."""
    r = subprocess.run(["/usr/bin/python3", os.path.join(TREE, "setup", "providers_table.py"), "--check"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_is_well_formed(page):
    """Its references lead somewhere, each page to all others, and the first is one that can be read in one go."""
    text = PAGES[page]
    headings = set(re.findall(r"^\.S[hs] (.*)", text, re.M))
    assert set(re.findall(r"^\.(?:Pq see )?Sx (.*?)(?: [.,;:]+)?$", text, re.M)) <= headings
    assert {"%s.%s" % r for r in re.findall(r"\bXr (sandpiper\S*) (\d)", text)} == set(PAGES) - {page}
    assert page != "sandpiper.1" or text.count("\n") <= 400
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not here")
    path = os.path.join(TREE, "docs", page)
    r = subprocess.run(["mandoc", "-Tlint", "-W", "warning", path], capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr
    shown = subprocess.run(["mandoc", "-Tutf8", "-Owidth=80", path], capture_output=True, text=True).stdout
    assert page != "sandpiper.1" or shown.count("\n") <= 400


def test_diagnostics_are_messages_of_the_program():
    """Each piece between the words in capitals, which stand for something, and in that order."""
    source = "".join(open(path).read() for path in glob.glob(os.path.join(TREE, "src", "**", "*.c"), recursive=True))
    source = re.sub(r'"\s*\n\s*"', "", source).replace('\\"', '"').lower()
    messages = re.findall(r"^\.It (.*)", section("sandpiper.1", "DIAGNOSTICS").replace("\\(dq", '"').replace("\\&", ""), re.M)
    assert len(messages) > 10
    for message in messages:
        for piece in re.split(r"\b(?:NAME|N|M|FILE|SIZE|PATH|HOST|URL|SOURCE|STATUS|TIME|REASON|MODEL)\b", message):
            assert piece.strip(' .:()[]";').lower() in source, (message, piece)


COMPLETION = os.path.join(TREE, "setup", "completion")


def complete_line(line, program=None):
    """As bash calls it: the words cut where it cuts them, and the line as it was typed. What is put behind the last cut."""
    script = ('source "$0"; compopt() { :; }; COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sandpiper; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    words = [w for w in re.split(r"\s+|([:=@])", line) if w] + ([""] if line[-1] == " " else [])
    r = subprocess.run(["bash", "-c", script, os.path.join(COMPLETION, "sandpiper.bash"), line, BIN, *words[1:]], capture_output=True, text=True,
                       timeout=20, env=program.env() if program else None)
    assert r.stderr == "", r.stderr
    return set(r.stdout.split())


def test_files_with_blanks_are_completed_in_bash(bare, tmp_path):
    """At a real prompt: what is typed has the backslashes that bash itself has put there."""
    for name in ("my first.csv", "my second.csv", "second"):
        (tmp_path / name).touch()
    p = pexpect.spawn("bash", ["--norc", "--noprofile", "-i"], cwd=str(tmp_path), timeout=20, encoding="utf-8", dimensions=(24, 200),
                      env=dict(bare.env(), PS1="ready>", TERM="dumb", INPUTRC="/dev/null", HISTFILE="/dev/null"))
    p.sendline("bind 'set enable-bracketed-paste off'; PATH=%s:$PATH; source %s" % (os.path.dirname(BIN), os.path.join(COMPLETION, "sandpiper.bash")))
    p.expect("ready>.*ready>")
    p.send("sandpiper --add m\t")
    p.expect_exact("y\\ ")
    p.send("\t\t")
    p.expect("my first.csv +my second.csv")
    p.expect_exact("sandpiper --add my\\ ")
    p.send("s\t")
    p.expect_exact("second.csv ")
    p.sendcontrol("u")
    p.sendline("exit")
    p.expect(pexpect.EOF)
    p.close()


def test_models_are_completed_from_the_list_that_was_kept(bare, serve):
    server = serve(bare)
    server.others["/v1/models"] = {"data": [{"id": i} for i in ("qwen3.5:4b", "qwen3.5:9b", "gemma4:e4b", "@cf/openai/gpt-oss-120b",
                                                                "$(touch pwned)", "`touch pwned`", "x;touch pwned", "x;y")]}
    assert complete_line("sandpiper -m ", bare) == set()
    assert bare.run("models").code == 0
    asked = len(server.asides)
    assert complete_line("sandpiper -m ", bare) == {"qwen3.5:4b", "qwen3.5:9b", "gemma4:e4b", "@cf/openai/gpt-oss-120b"}
    assert complete_line("sandpiper --model qwen3.5:", bare) == {"4b", "9b"}
    assert complete_line("sandpiper -q --model qwen3.5:4", bare) == {"4b"}
    assert complete_line("sandpiper -m @cf/o", bare) == {"cf/openai/gpt-oss-120b"}
    assert complete_line("sandpiper --base-url http://127.0.0.1:9/v1 -m ", bare) == set()
    assert complete_line("sandpiper -m gemma4:e4b --sandbox d", bare) == {"docker"}
    assert len(server.asides) == asked and not os.path.exists("pwned") and os.listdir(bare.work) == []


def test_sessions_are_completed_with_their_titles(bare, serve):
    """In bash the titles are shown beside several IDs; one alone is put into the line as it is."""
    serve(bare, [{"answer": {"text": "Heard."}}] * 2)
    for title in ("first $(touch pwned)", "second"):
        assert bare.run(title).code == 0
    second, first = [line.split()[0] for line in bare.run("sessions").out.splitlines()[1:]]
    shown = [line.split("\t") for line in bare.run("debug", "complete", "-r", "").out.splitlines()]
    assert [(one[0], one[1].split("  ", 1)[1]) for one in shown] == [(second, "second"), (first, "first $(touch pwned)")]
    for line in ("sandpiper -r ", "sandpiper sessions show ", "sandpiper sessions rm " + first + " "):
        assert {first, second, "$(touch", "pwned)"} <= complete_line(line, bare), line
    assert complete_line("sandpiper --resume=" + first[:7], bare) == complete_line("sandpiper sessions export " + first[:7], bare) == {first}
    assert complete_line("sandpiper sessions search ", bare) & {first, second} == set() and os.listdir(bare.work) == []


def test_completion(bare):
    def complete(words):
        return complete_line("sandpiper " + words)

    flags = set(re.findall(r"^  .{4}(--[a-z-]+)", bare.run("help", "all").out, re.M))
    assert len(flags) > 25 and complete("-") <= flags
    of_commands = [complete(command + " -") for command in complete("")]
    assert flags - complete("-") <= set().union(*of_commands), flags - complete("-") - set().union(*of_commands)
    assert complete("--mod") == {"--model"} and complete("-m x --mod") == {"--model"}
    assert complete("--sandbox d") == {"docker"} and complete("--sandbox=d") == {"docker"}
    assert complete("e") == {"exec"} and complete("-q --memory 2g e") == {"exec"}
    assert complete("how many") == complete("-- e") == set()
    assert {"openai", "ollama"} <= complete("--provider o")
    for flag in ("--api", "--color", "--dialect", "--reasoning-effort", "--sandbox", "--stdin"):
        choices = re.search(r"one of (\S+),", bare.run(flag, "?", "q").err).group(1)
        assert complete(flag + " ") == set(choices.split("|")), flag
    commands = set(re.search("there are: (.*)", bare.run("help", "x").err).group(1).replace(",", "").split())
    assert complete("help ") == commands and complete("") == commands - {"all", "json", "agents", "engines"}
    assert {"help", "version"} <= commands
    of_exec = set(re.findall(r"^  .{4}(--[a-z-]+)", bare.run("exec", "--help").out, re.M))
    assert {"--dry-run", "--memory"} <= of_exec < flags and complete("exec -") == of_exec
    os.makedirs(os.path.join(bare.work, "folder"))
    with open(os.path.join(bare.work, "file"), "w"):
        pass
    where = os.path.join(bare.work, "f")
    assert complete("--out " + where) == {where + "older"} and complete("--add " + where) == {where + "older", where + "ile"}


def test_completion_of_a_broken_configuration(bare):
    """Fewer names, no complaint."""
    bare.configure("timeout: [")
    assert complete_line("sandpiper --provider o", bare) == set() and complete_line("sandpiper --mod", bare) == {"--model"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_of_other_shells(shell, tmp_path):
    """Each shows what the program says, with descriptions. Not on machines without that shell."""
    if not shutil.which(shell):
        pytest.skip(shell + " is not here")
    (tmp_path / "sandpiper").symlink_to(BIN)
    env = dict(os.environ, HOME=str(tmp_path), PATH="%s:/usr/bin:/bin" % tmp_path, TERM="vt100")
    if shell == "fish":
        script = "source %s/sandpiper.fish; complete -C 'sandpiper --mod'; complete -C 'sandpiper --color=al'" % COMPLETION
        r = subprocess.run([shutil.which("fish"), "--no-config", "-c", script], capture_output=True, text=True, timeout=30, env=env)
        assert r.stdout.splitlines() == ["--model\tthe model to ask", "--color=always"], r
        return
    with pexpect.spawn(shutil.which("zsh"), ["-f"], env=env, encoding="utf8", timeout=30, dimensions=(40, 120)) as zsh:
        zsh.sendline("fpath=(%s $fpath); autoload -U compinit; compinit -u -D; PS1='<%%1~>'" % COMPLETION)
        zsh.expect("<.*?>.*<.*?>")
        zsh.send("sandpiper do\t")
        zsh.expect("doctor ")
        zsh.send("--co\t")
        zsh.expect("--color +-- use colors")
