"""test_why.py - /why NUMBER in the chat: the line of output that has a number of the answer, and the line of code that printed it."""
import pytest

from chat_keys import ask, leave, start

CODE = "xs = [41.5, 42.44]\nprint('sum', sum(xs))\nprint('mean', sum(xs) / 2)\nfactor = 1234.5"
RUN = {"answer": {"calls": [{"code": CODE}]}}


def test_it_names_both_lines(sandpiper, serve):
    serve(sandpiper, [RUN, {"answer": {"text": "The mean is 42.0."}}])
    p = start(sandpiper)
    ask(p, "go", "mean is")
    ask(p, "/why 41.97", "41\\.97 is in line 2 of the output of run 1 of the last question:\r\n    mean 41\\.97\r\n"
                         "Line 3 of its code printed that:\r\n    print\\('mean', sum\\(xs\\) / 2\\)\r\n")
    ask(p, "/why 42.0", "42\\.0, rounded or in another unit, is in line 2 of the output of run 1")
    ask(p, "/why 1,234.5", "1,234\\.5 is in no output\\. It stands in line 4 of the code of run 1 of the last question:\r\n    factor = 1234\\.5\r\n")
    ask(p, "/why 577", "577 is in no output and in no code\\. /check computes the answer again\\.")
    ask(p, "/why", "/why needs an argument: /why NUMBER")
    ask(p, "/why so", "/why needs a number of an answer, for example: /why 42\\.1")
    leave(p)


def test_no_word_is_cut_in_two(sandpiper, serve):
    serve(sandpiper, [RUN, {"answer": {"text": "The mean is 42.0."}}])
    p = start(sandpiper, size=(30, 40))
    ask(p, "go", "mean is")
    ask(p, "/why 41.97", "41\\.97 is in line 2 of the output of run\r\n  1 of the last question:\r\n    mean 41\\.97\r\n")
    leave(p)


def test_earlier_runs_and_ones_own(sandpiper, serve):
    serve(sandpiper, [RUN, {"answer": {"text": "Done."}}, {"answer": {"calls": [{"code": "7000 + 77"}]}}, {"answer": {"text": "7077"}}])
    p = start(sandpiper)
    ask(p, "/why 3", "No code has run yet\\.")
    ask(p, "go", "Done")
    ask(p, "on", "7077")
    ask(p, "!print(8000 + 88)", "8088")
    ask(p, "/why 7077", "7077 is in line 1 of the output of run 1 of the last question:\r\n    = 7077\r\nLine 1 of its code printed that:\r\n    7000 \\+ 77")
    ask(p, "/why 83.94", "line 1 of the output of run 1 of an earlier question:\r\n    sum 83\\.94")
    ask(p, "/why 8088", "line 1 of the output of your own code")
    ask(p, "!limit = 999331", "\r\n")
    ask(p, "/why 999331", "999331 is in no output\\. It stands in line 1 of your own code:\r\n    limit = 999331")
    ask(p, "/undo", "Removed")
    ask(p, "/why 7077", "7077 is in no output and in no code")
    ask(p, "/why 41.97", "line 2 of the output of run 1 of the last question")
    leave(p)


@pytest.mark.parametrize("code, said", [("print(328)", "Line 1 of its code printed that:\r\n    print\\(328\\)\r\n"),
                                        ("x = 328\nprint(x)", "Line 2 of its code printed that:\r\n    print\\(x\\)\r\nThe code has it, too, in line 1:\r\n    x = 328\r\n")])
def test_a_number_that_was_not_computed(sandpiper, serve, code, said):
    """It was printed, but only because the code begins with it."""
    serve(sandpiper, [{"answer": {"calls": [{"code": code}]}}, {"answer": {"text": "328"}}])
    p = start(sandpiper)
    ask(p, "go", "328")
    ask(p, "/why 328", said)
    leave(p)
