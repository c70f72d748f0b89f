"""test_chat_interrupts.py - Ctrl-C in every phase of a chat."""
import re
import time

from chat_keys import AT_PROMPT, said, start, ask, leave


def test_ctrl_c_at_the_prompt_clears_the_line(bare, serve):
    serve(bare, [said("second")])
    p = start(bare)
    p.send("first try\x03")
    p.expect("\\^C\r\n")
    p.expect("> ")
    p.send('"""\rline\r\x03')
    p.expect("\\^C\r\n")
    p.expect("> ")
    p.send("\x12first\x03")                     # inside a search too
    p.expect("\\^C\r\n")
    p.expect("> ")
    ask(p, "second", "Heard")
    leave(p)


def test_two_at_an_empty_prompt_say_how_to_leave(bare, serve):
    serve(bare, [])
    p = start(bare)
    p.send("\x03")
    p.expect(AT_PROMPT)
    p.send("x\x03")
    p.expect(AT_PROMPT)
    p.send("\x03")
    p.expect(AT_PROMPT)
    assert "leave" not in p.before
    for told in ("sandpiper: To leave: Ctrl-D, or /exit\r\n", ""):            # once, one line
        p.send("\x03")
        p.expect(AT_PROMPT)
        assert told in p.before and ("leave" in p.before) == bool(told), p.before
    leave(p)


def test_ctrl_c_while_the_model_speaks(bare, serve):
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}},
                 {"expect": {"roles": "system user assistant user", "last": {"content": "next"}}, "answer": {"text": "Heard."}}])
    p = start(bare)
    p.send("go\r")
    p.expect("one two")
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("> ")
    ask(p, "next", "Heard")
    leave(p)


def test_the_first_key_after_a_ctrl_c_counts(bare, serve):
    """The interrupt of the question before is no interrupt of the line: key by key, as a person types."""
    serve(bare, [{"answer": {"text": "one two three four five six", "piece": 4, "delay": 0.3}}, said("next")])
    p = start(bare)
    p.send("go\r")
    p.expect("one two")
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("> ")
    for key in "next":
        p.send(key)
        p.expect(key)
    p.send("\r")
    p.expect("Heard")
    p.expect("> ")
    leave(p)


def test_ctrl_c_while_the_model_is_silent_and_retry(bare, serve):
    server = serve(bare, [{"answer": {"text": "never", "wait": 20}}, said("go")])
    p = start(bare)
    p.send("go\r")
    server.wait_request(1)
    p.send("\x03")
    p.expect("Stopped\\.")
    p.expect("/retry")
    p.expect("> ")
    ask(p, "/retry", "Heard")
    leave(p)


def test_ctrl_c_in_a_cell_keeps_the_variables(sandpiper_on, serve):
    serve(sandpiper_on, [{"answer": {"calls": [{"code": "x = 5\nprint('started', flush=True)\nimport time\nwhile True: time.sleep(0.1)"}]}},
                         {"expect": {"roles": "system user assistant tool assistant user"}, "answer": {"calls": [{"code": "x + 1"}]}},
                         {"expect": {"last": {"content": {"contains": "6"}}}, "answer": {"text": "Six."}}])
    p = start(sandpiper_on)
    p.send("go\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect(re.escape("sandpiper: Stopped. Variables are kept.") + "( /retry asks again\\.)?\r\n")
    shown = p.before
    p.expect(AT_PROMPT)
    assert not re.search("the user|interrupted|\\n! ", shown + p.before), shown + p.before     # one line for one key
    p.send("and x?\r")
    p.expect("= 6\r\n")
    p.expect("Six.")
    p.expect("> ")
    leave(p)


def test_a_second_ctrl_c_kills_stubborn_code(sandpiper_on, serve):
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\nwhile True: time.sleep(0.1)"
    server = serve(sandpiper_on)
    p = start(sandpiper_on, size=(30, 200))
    for k in range(3):                      # three tries, for a machine that has other work
        server.exchanges.append({"answer": {"calls": [{"code": code}]}})
        p.send("go\r")
        p.expect("\\| started")
        p.send("\x03")
        p.expect("Ctrl-C again kills it")
        begin = time.monotonic()
        p.send("\x03")
        p.expect("Code did not react to Ctrl-C and was killed; variables are gone\\.")      # there were none before
        took = time.monotonic() - begin
        p.expect("> ")
        assert "the user" not in p.before
        if took < 1.2:                      # one Ctrl-C gives the code two seconds
            break
    assert took < 1.2
    server.exchanges.append(said("still there?"))
    p.send("still there?\r")
    i = p.expect(["Heard", "refused"])
    assert i == 0
    p.expect("> ")
    leave(p)


def test_killed_code_goes_back_to_the_variables_before_it(sandpiper, serve):
    code = "import signal, time\nx = 6\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('started', flush=True)\nwhile True: time.sleep(0.1)"
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}])
    p = start(sandpiper, size=(30, 200))
    ask(p, "!x = 5; x", "= 5")
    p.send("go\r")
    p.expect("\\| started")
    p.send("\x03")
    p.expect("Ctrl-C again kills it")
    p.send("\x03")
    p.expect("Code did not react to Ctrl-C and was killed\\. Variables are back to what they were before it ran\\.")
    p.expect(AT_PROMPT)
    p.send("!x\r")
    p.expect("= 5\r\n")
    p.expect(AT_PROMPT)
    p.send("!import time; print('up', flush=True); time.sleep(30)\r")           # a line of one's own, stopped: one line as well
    p.expect("up\r\n")
    p.send("\x03")
    p.expect("sandpiper: Stopped\\. Variables are kept\\.\r\n")
    assert "the user" not in p.before and "! " not in p.before.split("sleep(30)")[-1], p.before
    p.expect(AT_PROMPT)
    leave(p)
