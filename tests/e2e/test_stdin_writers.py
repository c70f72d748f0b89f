"""test_stdin_writers.py - who writes to stdin, and when: shells, parents, siblings and sockets around the program. What becomes of the data
is in test_stdin.py.
"""
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from conftest import BIN, HANG, Result

DATA = {"expect": {"last": {"content": {"contains": ["/mnt/data/stdin", "forty-two"]}}}, "answer": {"text": "Seen."}}
NO_DATA = {"expect": {"last": {"content": {"not_contains": "/mnt/data"}}}, "answer": {"text": "None."}}
ALONE = "(--stdin data "


def shell(program, script, timeout=60, stdin=subprocess.DEVNULL, **env):
    begin = time.monotonic()
    p = subprocess.run(["bash", "-c", script], env=program.env(dict(env, SP=BIN)), cwd=program.work, stdin=stdin, timeout=timeout,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return Result(p.returncode, p.stdout, p.stderr, time.monotonic() - begin, script)


def test_a_pipe_is_data(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, 'echo forty-two | "$SP" "what is in it?"')
    assert (r.code, r.out) == (0, "Seen.\n"), r


def test_the_code_sees_the_data(sandpiper, serve):
    serve(sandpiper, [{"answer": {"calls": [{"code": "import glob\nprint(open(glob.glob('/mnt/data/stdin*')[0]).read().upper())"}]}},
                      {"expect": {"last": {"role": "tool", "content": {"contains": "A,B\n1,2"}}}, "answer": {"text": "Read."}}])
    r = shell(sandpiper, 'printf "a,b\\n1,2\\n" | "$SP" "read it"')
    assert (r.code, r.out) == (0, "Read.\n"), r


def test_while_read_keeps_its_lines(bare, serve):
    """The classic that a program reading stdin breaks: only the first question would be asked."""
    asked = [{"expect": {"last": {"content": "question %s" % n}}, "answer": {"text": "Answer %s." % n}} for n in (1, 2, 3)]
    serve(bare, asked)
    bare.write("questions.txt", "question 1\nquestion 2\nquestion 3\n")
    r = shell(bare, 'while read -r q; do "$SP" "$q"; done < questions.txt')
    assert (r.code, r.out) == (0, "Answer 1.\nAnswer 2.\nAnswer 3.\n"), r
    assert ALONE in r.err and "--stdin data" in r.err, r


def test_while_read_from_a_pipe(bare, serve):
    """Nothing tells its next lines from data, so the first call takes them; it says so, and the way out that it names works."""
    serve(bare, [{"expect": {"last": {"content": {"contains": "question 2"}}}, "answer": {"text": "One."}}])
    r = shell(bare, 'printf "question 1\\nquestion 2\\n" | while read -r q; do "$SP" "$q"; done')
    assert (r.code, r.out) == (0, "One.\n"), r
    assert "all of stdin was read" in r.err and "--stdin ignore" in r.err, r
    serve(bare, [{"expect": {"last": {"content": "question %d" % n}}, "answer": {"text": "Answer %d." % n}} for n in (1, 2)])
    r = shell(bare, 'printf "question 1\\nquestion 2\\n" | while read -r q; do "$SP" --stdin ignore "$q"; done')
    assert (r.code, r.out, r.err) == (0, "Answer 1.\nAnswer 2.\n", ""), r


def test_a_plain_pipe_is_nobody_elses(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, 'echo forty-two | "$SP" "what is in it?"')
    assert r.code == 0 and "all of stdin was read" not in r.err, r
    serve(sandpiper, [DATA])
    r = shell(sandpiper, 'echo forty-two | timeout 60 "$SP" "what is in it?"')        # which has the same stdin, and only runs us
    assert r.code == 0 and "all of stdin was read" not in r.err, r


def test_the_rest_of_a_shared_file_on_request(sandpiper, serve):
    serve(sandpiper, [DATA])
    sandpiper.write("f", "first line\nforty-two\n")
    r = shell(sandpiper, '{ read -r x; "$SP" --stdin data "rest?"; } < f')
    assert (r.code, r.out) == (0, "Seen.\n"), r


def test_a_slow_writer_is_waited_for(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, '(sleep 2; echo forty-two) | "$SP" "what is in it?"')
    assert (r.code, r.out) == (0, "Seen.\n"), r
    assert "waiting for stdin" in r.err, r
    assert r.seconds < HANG, r


def test_a_rather_slow_writer_needs_no_line(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, '(sleep 0.6; echo forty-two) | "$SP" "what is in it?"')
    assert (r.code, r.out) == (0, "Seen.\n"), r
    assert "waiting" not in r.err or r.seconds >= 1, r         # on a busy machine it may have been a second


def test_process_substitution(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, '"$SP" "what is in it?" < <(sleep 0.5; echo forty-two)')
    assert (r.code, r.out) == (0, "Seen.\n"), r


def test_bytes_that_come_in_two_parts(sandpiper, serve):
    serve(sandpiper, [{"expect": {"last": {"content": {"contains": ["part one", "part two"]}}}, "answer": {"text": "Both."}}])
    r = shell(sandpiper, '(echo part one; sleep 1.5; echo part two) | "$SP" "q"')
    assert (r.code, r.out) == (0, "Both.\n"), r


@pytest.mark.parametrize("redirect", ["</dev/null", "<&-", "--stdin ignore < data.txt"])
def test_no_data_without_a_word(bare, serve, redirect):
    serve(bare, [NO_DATA])
    bare.write("data.txt", "forty-two\n")
    r = shell(bare, '"$SP" "q" %s' % redirect)
    assert (r.code, r.out) == (0, "None.\n"), r
    assert "stdin" not in r.err, r


def test_closed_descriptors(bare, serve):
    """The first file that is opened must not become stdout."""
    serve(bare, [NO_DATA])
    r = shell(bare, '"$SP" "q" <&- >&- 2>&-; echo "code $?"')
    assert r.out == "code 1\n", r          # nobody could hear the answer
    r = shell(bare, '"$SP" "q" <&- 2>&-')
    assert (r.code, r.out, r.err) == (0, "None.\n", ""), r


def test_a_grandparent_that_forgot_to_close(bare, serve):
    serve(bare, [NO_DATA])
    r, w = os.pipe()
    p = subprocess.run(["bash", "-c", 'bash -c "\\"$SP\\" q; exit \\$?"; exit $?'], env=bare.env({"SP": BIN}), stdin=r, pass_fds=(w,),
                       close_fds=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    os.close(r)
    os.close(w)
    assert (p.returncode, p.stdout) == (0, b"None.\n"), p
    assert ALONE in p.stderr.decode(), p


def test_the_parent_writes_late_but_was_asked_for(sandpiper, serve):
    serve(sandpiper, [DATA])
    p = sandpiper.start("--stdin", "data", "q", stdin=subprocess.PIPE)
    time.sleep(1)
    out, err = p.communicate(b"forty-two\n", timeout=30)
    assert (p.returncode, out) == (0, b"Seen.\n"), err


def test_coproc(bare, serve):
    serve(bare, [NO_DATA])
    r = shell(bare, 'coproc "$SP" "q"; cat <&"${COPROC[0]}"; wait')
    assert r.out == "None.\n", r
    assert ALONE in r.err and r.seconds < HANG, r


def test_a_sibling_ends_and_a_parent_still_holds_the_pipe(bare, serve):
    serve(bare, [NO_DATA])
    r, w = os.pipe()
    sibling = subprocess.Popen(["sleep", "1"], stdout=w)
    p = bare.start("q", stdin=r)
    os.close(r)
    try:
        assert p.wait(60) == 0
    finally:
        os.close(w)
        sibling.wait()
    assert p.stdout.read() == b"None.\n"
    assert ALONE in p.stderr.read().decode()


def test_a_socket_without_a_word(bare, serve):
    serve(bare, [NO_DATA])
    ours, theirs = socket.socketpair()
    p = bare.start("q", stdin=theirs)
    theirs.close()
    assert p.wait(60) == 0
    ours.close()
    assert p.stdout.read() == b"None.\n" and ALONE in p.stderr.read().decode()


def test_a_socket_with_data(sandpiper, serve):
    serve(sandpiper, [DATA])
    ours, theirs = socket.socketpair()
    ours.sendall(b"forty-two\n")
    ours.close()
    p = sandpiper.start("q", stdin=theirs)
    theirs.close()
    out, err = p.communicate(timeout=60)
    assert (p.returncode, out) == (0, b"Seen.\n"), err


def test_a_named_pipe(sandpiper, serve):
    serve(sandpiper, [DATA])
    r = shell(sandpiper, 'mkfifo f; (sleep 0.7; echo forty-two) > f & "$SP" "q" < f; c=$?; wait; exit $c')
    assert (r.code, r.out) == (0, "Seen.\n"), r


def test_ctrl_c_while_waiting(bare, serve):
    serve(bare, [])
    p = subprocess.Popen(["bash", "-c", 'sleep 30 | "$SP" q; exit ${PIPESTATUS[1]}'], env=bare.env({"SP": BIN}), cwd=bare.work,
                         start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = p.stderr.readline()
    assert b"waiting for stdin" in said, said
    os.killpg(p.pid, signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert out == b"", (out, err)


def test_ctrl_c_exit_code(bare, serve):
    serve(bare, [])
    r, w = os.pipe()
    sibling = subprocess.Popen(["sleep", "30"], stdout=w)
    p = bare.start("q", stdin=r)
    os.close(r)
    os.close(w)
    assert b"waiting for stdin" in p.stderr.readline()
    p.send_signal(signal.SIGINT)
    assert p.wait(60) == 130
    p2 = bare.start("--stdin", "data", "q", stdin=subprocess.PIPE)
    assert b"waiting for stdin" in p2.stderr.readline()
    p2.send_signal(signal.SIGTERM)
    assert p2.wait(60) == 143
    sibling.kill()
    sibling.wait()


@pytest.mark.slow(3)
def test_too_much_data(bare, serve):
    serve(bare, [])
    with open(bare.write("big", ""), "wb") as f:
        f.truncate(300_000_000)
    r = shell(bare, '"$SP" "q" < big')
    assert r.code == 2 and "300,000,000" in r.err and "268,435,456" in r.err, r
    r = shell(bare, 'yes | "$SP" "q"')
    assert r.code == 2 and "268,435,456" in r.err, r
    assert len(r.err.splitlines()) <= 2, r


def test_data_needs_a_sandbox(bare, serve):
    """No engine: a question with data is exit 3, one line of cause."""
    serve(bare, [])
    r = bare.run("--sandbox", "docker", "--image", "no-such-image:none", "q", stdin="forty-two\n")
    assert r.code == 3 and r.out == "", r
    assert "Traceback" not in r.err and len(r.err.splitlines()) <= 3, r


# ---------------------------------------------------------------------------------------------------- stdin as the question

def test_dash_is_the_question(bare, serve):
    serve(bare, [{"expect": {"last": {"content": {"contains": "line 1\n# line 2\n\"\"\"\nline 4"}}}, "answer": {"text": "One."}}])
    r = bare.run("-", stdin='\ufeffline 1\n# line 2\n"""\nline 4\n')
    assert (r.code, r.out) == (0, "One.\n"), r


@pytest.mark.parametrize("data, words", [
    (b"", ["no question", "empty"]),
    (b" \n\n", ["no question"]),
    (b"a\0b", ["NUL", "byte 2"]),
    (b"caf\xe9", ["UTF-8", "byte 4"]),
    (b"x" * 10_000_000, [r"too long: (more than )?\d[\d,]{8,9} bytes", "1,048,576"]),
])
def test_what_dash_refuses(bare, serve, data, words):
    serve(bare, [])
    r = bare.run("-", stdin=data)
    assert r.code == 2 and r.out == "", r
    assert all(re.search(w, r.err) for w in words), r
    assert len(r.err.splitlines()) <= 2, r


@pytest.mark.parametrize("prompt", ["", "  ", b"caf\xe9"])
def test_what_a_prompt_argument_refuses(bare, serve, prompt):
    serve(bare, [])
    r = bare.run("-p", prompt)
    assert r.code == 2 and len(r.err.splitlines()) <= 2, r
