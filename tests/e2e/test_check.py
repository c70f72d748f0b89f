"""test_check.py - /check in the chat: the last answer is computed a second time, by code that has not seen the first."""
import pytest

from chat_keys import ask, leave, start

RUN = {"expect": {"last": {"content": "six times seven?"}}, "answer": {"calls": [{"code": "secret = 42\nprint(6 * 7)"}]}}
SAID = {"answer": {"text": "It is 42."}}
AGAIN = {"expect": {"roles": "system user", "last": {"content": {"regex": "own words.*six times seven", "not_contains": ["42", "secret"]}}},
         "answer": {"calls": [{"code": "print(sum([7] * 6), 'secret' in globals())"}]}}


def answers(text):
    return {"answer": {"text": text}}


def test_it_agrees(sandpiper, serve):
    serve(sandpiper, [RUN, SAID, AGAIN, {"expect": {"last": {"content": "42 False"}}, "answer": {"text": "42"}},
                      {"expect": {"last": {"content": {"contains": ["computed a second time", "gave: 42", "thanks"]}}}, "answer": {"text": "Heard."}}])
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    ask(p, "/check", "A second computation agrees\\.")
    ask(p, "!secret", "= 42")
    ask(p, "thanks", "Heard")
    leave(p)


def test_it_disagrees(sandpiper, serve):
    serve(sandpiper, [RUN, SAID, AGAIN, answers("It is 577."), AGAIN, answers("So 42.")])
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    ask(p, "/check", "A second computation gives 577, the first gave 42: trust neither\\.")
    ask(p, "/check", "A second computation agrees\\.")
    leave(p)


def test_prose_and_failure(sandpiper, serve):
    serve(sandpiper, [RUN, answers("The file is sorted."), AGAIN, answers("Done: it was sorted by name."),
                      {"answer": {"status": 400, "json": {"error": {"message": "no more"}}}}])
    p = start(sandpiper, size=(30, 200))
    ask(p, "six times seven?", "is sorted\\.")
    ask(p, "/check", 'The answer is not verified: there is no number to compare\\. First: "The file is sorted\\." Second: "Done: it was')
    ask(p, "/check", "The answer is not verified: the second computation gave no answer: .*no more")
    leave(p)


@pytest.mark.parametrize("doubt", ["Are you sure?", "is that right?", "Really??", "check that", "Is that correct"])
def test_are_you_sure(sandpiper, serve, doubt):
    """After an answer that code computed, code decides; a blank before it makes it a question."""
    serve(sandpiper, [RUN, SAID, AGAIN, answers("It is 43."), {"expect": {"last": {"content": {"contains": [doubt]}}}, "answer": {"text": "Quite sure."}}])
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    ask(p, doubt, "A second computation gives 43, the first gave 42: trust neither\\.")
    ask(p, " " + doubt, "Quite sure")
    leave(p)


def test_without_code_the_model_is_asked(bare, serve):
    serve(bare, [answers("Paris."), {"expect": {"last": {"content": "Are you sure?"}}, "answer": {"text": "Quite sure."}},
                 {"expect": {"last": {"content": "Are you sure that it is not Lyon?"}}, "answer": {"text": "Yes."}}])
    p = start(bare)
    ask(p, "/check", "Nothing to check: no question was answered yet\\.")
    ask(p, "the capital of France?", "Paris\\.")
    ask(p, "/check", "Nothing to check: no code ran for the last answer, and it has no number\\.")
    ask(p, "Are you sure?", "Quite sure")
    ask(p, "Are you sure that it is not Lyon?", "Yes")
    ask(p, "/clear", "cleared")
    ask(p, "/check", "Nothing to check: no question was answered yet\\.")
    leave(p)


def test_files_are_there(sandpiper, serve):
    read = {"answer": {"calls": [{"code": "print(sum(int(x) for x in open('/mnt/data/n.txt')))"}]}}
    serve(sandpiper, [read, answers("6006"), read, {"expect": {"last": {"content": "6006"}}, "answer": {"text": "6,006"}}])
    p = start(sandpiper, "--add", sandpiper.write("n.txt", "1001\n2002\n3003\n"))
    ask(p, "the sum?", "6006")
    ask(p, "/check", "A second computation agrees\\.")
    leave(p)


def test_undone(sandpiper, serve):
    """After /undo the question before is the last one."""
    serve(sandpiper, [RUN, SAID, answers("Blue."), AGAIN, answers("42")])
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    ask(p, "the colour?", "Blue\\.")
    ask(p, "/undo", "Removed the last question")
    ask(p, "/check", "A second computation agrees\\.")
    leave(p)


def test_a_summary_is_not_checked(sandpiper, serve):
    serve(sandpiper, [RUN, SAID, answers("The user asked for 42.")])
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    ask(p, "/compact", "Conversation summarised")
    ask(p, "/check", "Nothing to check: no question was answered yet\\.")
    leave(p)


def test_stopped(sandpiper, serve):
    server = serve(sandpiper, [RUN, SAID, {"answer": {"wait": 20}}, answers("Heard.")], complete=False)
    p = start(sandpiper)
    ask(p, "six times seven?", "It is 42\\.")
    p.send("/check\r")
    server.wait_request(3)
    p.expect("Waiting for")
    p.send("\x03")
    p.expect("Stopped: the answer was not checked\\.")
    p.expect("> ")
    ask(p, "!secret", "= 42")
    leave(p)


BLOCK = {"answer": {"text": "```python\nprint(6 * 7)\n```"}}


def test_a_small_model_says_how(sandpiper, serve):
    sandpiper.model = "qwen2.5-coder-1.5b"
    serve(sandpiper, 2 * [BLOCK] + [BLOCK], model=sandpiper.model)
    p = start(sandpiper)
    ask(p, "six times seven?", r"\[1 run, [^\]]*; small model: /check computes it again\]")
    ask(p, "/check", "A second computation agrees\\.")
    leave(p)
    p = sandpiper.chat("-p", "six times seven?", env={"NO_COLOR": "1"})
    p.expect(r"\[1 run, [^\]]*; small model: --verify computes it again\]")


def test_other_models_do_not(sandpiper, serve):
    serve(sandpiper, [RUN, SAID])
    p = start(sandpiper)
    ask(p, "six times seven?", r"\[1 run, [0-9.]+ m?s, 60 tokens\]")
    leave(p)
