"""test_setup.py - the scripts of the Makefile where they go wrong: a line that says what, never a traceback. No network."""
import fcntl
import glob
import os
import re
import socket
import subprocess
import sys
import time
import zipfile

import pexpect
import pytest

from conftest import TREE

pytestmark = pytest.mark.no_asan

SCRIPT = os.path.join(TREE, "setup", "local_model.py")


def model(*args, **env):
    return subprocess.Popen([sys.executable, SCRIPT, *args], env={"PATH": "/usr/bin:/bin", **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    out, err = (p := model("fetch", XDG_DATA_HOME=str(tmp_path / "file"))).communicate(timeout=60)
    assert p.returncode == 1 and out == "" and len(err.splitlines()) == 1 and "Not a directory" in err, err


def test_serve_and_path_before_it_was_fetched(tmp_path):
    out, err = (p := model("serve", XDG_DATA_HOME=str(tmp_path))).communicate(timeout=60)
    assert p.returncode == 1 and out == "" and "make local-model" in err and len(err.splitlines()) == 1, err
    out, err = (p := model("path", XDG_DATA_HOME=str(tmp_path))).communicate(timeout=60)
    assert p.returncode == 1 and out.startswith(str(tmp_path)), out


def test_two_fetch_one_after_the_other(tmp_path):
    """Whoever comes second waits; a whole model needs no network then."""
    folder = tmp_path / "sandpiper"
    (folder / "models").mkdir(parents=True)
    with open(folder / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "wb") as f:
        f.truncate(1_117_320_768)               # a hole: it has the size
    (folder / "venv" / "lib" / ("python%d.%d" % sys.version_info[:2])).mkdir(parents=True)
    (folder / "venv" / "server.txt").write_text("xllamacpp==2026.10.11549\n")
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        p = model("fetch", XDG_DATA_HOME=str(tmp_path))
        assert "waiting" in p.stderr.readline()
        time.sleep(0.3)
        assert p.poll() is None
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert p.wait(30) == 0
        p.communicate()


def test_parts_that_are_here_need_no_more_room(tmp_path):
    """A fetch that was interrupted goes on where there was room for it at its beginning."""
    parts, bin = tmp_path / "sandpiper" / "models" / "parts", tmp_path / "sandpiper" / "venv" / "bin"
    for folder in parts, bin, bin.parent / "lib" / ("python%d.%d" % sys.version_info[:2]):
        folder.mkdir(parents=True)
    (bin.parent / "server.txt").write_text("xllamacpp==2026.10.11549\n")
    (bin / "python").write_text("#!/bin/sh\necho asked for $9\nexit 1\n")
    (bin / "python").chmod(0o755)
    for n in range(1, 21):
        with open(parts / ("part%02d.bin" % n), "wb") as f:
            f.truncate(50_000_000)              # holes

    def run(free):
        with_room = ("import os, runpy, sys; os.statvfs = lambda path: os.statvfs_result([1, 1] + [%d] * 3 + [0] * 5); sys.argv.pop(0); "
                     "runpy.run_path(sys.argv[0], run_name='__main__')" % free)
        return subprocess.run([sys.executable, "-c", with_room, SCRIPT, "fetch"], env={"XDG_DATA_HOME": str(tmp_path)}, capture_output=True, text=True,
                              timeout=60)
    r = run(1_600_000_000)
    assert "asked for" in r.stderr and "part21" in r.stderr and "needed" not in r.stderr, r
    r = run(1_400_000_000)
    assert r.returncode == 1 and "1.4 GB free, 1.5 GB are needed" in r.stderr, r


@pytest.mark.slow(5)
def test_no_network(tmp_path):
    """pip's own last word is that there is no such version. The environment is there already, with Debian's pip: to make one takes eight seconds."""
    wheels, bin = glob.glob("/usr/share/python-wheels/pip-*.whl"), tmp_path / "sandpiper" / "venv" / "bin"
    if not wheels:
        pytest.skip("python3-pip-whl is not here")
    for folder in bin, bin.parent / "lib" / ("python%d.%d" % sys.version_info[:2]):
        folder.mkdir(parents=True)
    (bin.parent / "server.txt").write_text("xllamacpp==2026.10.11549\n")
    (bin / "python").write_text('#!/bin/sh\nPYTHONPATH=%s exec /usr/bin/python3 "$@"\n' % wheels[0])
    (bin / "python").chmod(0o755)
    p = model("fetch", XDG_DATA_HOME=str(tmp_path), PIP_INDEX_URL="https://127.0.0.1:9/simple", PIP_RETRIES="1", PIP_CONFIG_FILE="/dev/null")
    out, err = p.communicate(timeout=240)
    assert p.returncode == 1 and out == "" and "the package index cannot be reached (NewConnectionError)" in err.splitlines()[-1], err


def test_packages_says_what_is_missing(tmp_path):
    """Not root and no sudo: the command is printed. A dpkg-query of ours says that nothing is installed."""
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    for name in ("dpkg-query", "id"):
        (tmp_path / name).chmod(0o755)
    for name in ("env", "mktemp", "rm", "tail", "bash"):
        (tmp_path / name).symlink_to("/usr/bin/" + name)
    r = subprocess.run(["/usr/bin/bash", os.path.join(TREE, "setup", "packages.sh"), "run"], env={"PATH": str(tmp_path)},
                       capture_output=True, text=True, timeout=30)
    assert r.returncode == 1 and "bubblewrap" in r.stderr and "as root, run:     apt-get install" in r.stderr, r


def test_what_make_says_first_is_ours(tmp_path):
    """A pkg-config that knows none of our packages, as on a fresh machine: make run goes on to its script without its complaints."""
    (tmp_path / "pkg-config").write_text("#!/bin/sh\necho \"Package libcjson was not found in the pkg-config search path.\" >&2\nexit 1\n")
    (tmp_path / "pkg-config").chmod(0o755)
    r = subprocess.run(["/usr/bin/make", "-n", "run"], cwd=TREE, env={"PATH": "%s:/usr/bin:/bin" % tmp_path},
                       capture_output=True, text=True, timeout=30)
    assert r.returncode == 0 and r.stderr == "" and r.stdout == "setup/run.sh \n", r


@pytest.mark.slow(20)
def test_install_and_uninstall(tmp_path):
    """Stripped, with manual pages and completions beneath PREFIX; uninstall leaves no file of it, and nobody else's is touched."""
    place = tmp_path / "my programs"

    def make(goal):
        r = subprocess.run(["/usr/bin/make", "-s", goal, "DESTDIR=%s" % place, "PREFIX=/opt/x"], cwd=TREE, capture_output=True, text=True, timeout=300)
        assert r.returncode == 0 and r.stderr == "", r
        return {os.path.relpath(os.path.join(d, f), place / "opt" / "x") for d, _, fs in os.walk(place) for f in fs}

    there = make("install")
    assert there == {"bin/sandpiper", "share/man/man1/sandpiper.1", "share/man/man1/sandpiper-commands.1", "share/man/man1/sandpiper-serve.1",
                     "share/man/man5/sandpiper-config.5", "share/man/man5/sandpiper-events.5", "share/sandpiper/events.schema.json", "share/sandpiper/receipt.schema.json", "share/bash-completion/completions/sandpiper",
                     "share/zsh/site-functions/_sandpiper", "share/fish/vendor_completions.d/sandpiper.fish"}
    program = place / "opt" / "x" / "bin" / "sandpiper"
    assert subprocess.run([program, "--version"], capture_output=True, text=True).stdout.startswith("sandpiper ")
    assert b".symtab" not in program.read_bytes()
    (place / "opt" / "x" / "bin" / "other").write_text("")
    assert make("uninstall") == {"bin/other"}


def packages(*args, **env):
    return subprocess.run(["/usr/bin/bash", os.path.join(TREE, "setup", "packages.sh"), *args], env={"PATH": "/usr/bin:/bin", **env},
                          capture_output=True, text=True, timeout=30)


def test_every_distribution_has_its_command():
    """Only Debian's is tried, and that is said. Each has as many packages as Debian, but for what is part of another."""
    debian = packages("run", "--for", "debian")
    assert debian.stdout.startswith("apt-get install") and "libchafa-dev" in debian.stdout and debian.stderr == ""
    for name, command, package in (("fedora", "dnf install", "libcurl-devel"), ("arch", "pacman -S", "libyaml"),
                                   ("opensuse", "zypper install", "cJSON-devel"), ("alpine", "apk add", "musl-dev")):
        r = packages("run", "--for", name)
        assert r.returncode == 0 and r.stdout.startswith(command) and package in r.stdout.split() and "not tried" in r.stderr, r
        assert len(set(r.stdout.split())) >= len(debian.stdout.split()) - 2, r.stdout
    r = packages("test", "--for", "fedora")
    assert r.returncode == 1 and "known for Debian only" in r.stderr, r


def test_another_distribution_is_told_its_command(tmp_path):
    """Nothing is installed there, whoever we are."""
    (tmp_path / "os").write_text('ID=rocky\nID_LIKE="rhel centos fedora"\n')
    r = packages("build", OS_RELEASE=str(tmp_path / "os"))
    assert r.returncode == 1 and "dnf install -y gcc" in r.stderr and "not tried" in r.stderr and r.stdout == "", r
    (tmp_path / "os").write_text("ID=plan9\n")
    r = packages("build", OS_RELEASE=str(tmp_path / "os"), PATH=str(tmp_path))
    assert r.returncode == 1 and "not one of debian" in r.stderr and "libcjson-dev" in r.stderr, r


@pytest.mark.slow(10)
def test_make_run_says_what_it_will_do(tmp_path):
    """Before anything is installed or fetched; with a key or a server nothing is downloaded."""
    def plan(**env):
        r = subprocess.run(["/usr/bin/bash", os.path.join(TREE, "setup", "run.sh"), "--plan"], capture_output=True, text=True, timeout=60,
                           env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), **env})
        assert r.returncode == 0 and r.stderr == "", r
        return r.stdout
    assert "1.1 GB" not in plan(OPENAI_API_KEY="x") and "1.1 GB" not in plan(MODEL="none")
    served = [port for port in (11434, 9931, 8080, 1234) if socket.socket().connect_ex(("127.0.0.1", port)) == 0]
    assert ("1.1 GB to download" in plan()) == (not served), served


def test_the_image_with_wheels_and_without(tmp_path):
    """make-image.sh with an engine of ours: what it is given to build from, under which sum, and what is said where there is no index."""
    bin, wheel = tmp_path / "bin", tmp_path / "pyarrow-25.0.1-cp311-cp311-any.whl"
    bin.mkdir()
    with zipfile.ZipFile(wheel, "w") as z:
        for name in ("__init__.py", "lib.so", "table.pxi", "tests/test_x.py", "libarrow_flight.so.2500", "include/arrow/api.h"):
            z.writestr("pyarrow/" + name, "x")
    scripts = {"docker": '#!/bin/sh\ncase "$*" in info|"image inspect debian:bookworm-slim") ;; *Labels*) cat "$TOP/label" ;; *Size*) echo 1000000 ;;\n'
                         'build*) for a; do case $a in sandpiper.source=*) echo "${a#*=}" >"$TOP/label" ;; esac; done; (cd "$a/site" && find . -type f | sort) ;;\n'
                         '*) exit 1 ;; esac\n',
               "podman": "#!/bin/sh\nexit 1\n",
               "python3": '#!/bin/sh\ncase "$*" in *" download "*) [ -n "$INDEX" ] || { echo "ERROR: No matching distribution" >&2; exit 1; }\n'
                          'while [ "$1" != --dest ]; do shift; done; mkdir -p "$2" && cp "$TOP"/*.whl "$2" ;; "-m pip --version") ;; *) exec %s "$@" ;; esac\n' % sys.executable}
    for name, text in scripts.items():
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)

    def make(**env):
        r = subprocess.run([os.path.join(TREE, "docker", "make-image.sh")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           timeout=60, env=dict(env, PATH="%s:/usr/bin:/bin" % bin, ENGINE="docker", TMPDIR=str(tmp_path), TOP=str(tmp_path)))
        assert r.returncode == 0, r.stderr
        return r.stderr

    said = make()
    assert re.search(r"will lack \d+ packages, so code in it has an older pandas and cannot read Parquet", said) and "ERROR: No matching distribution" in said and "./pyarrow" not in said, said
    assert (tmp_path / "label").read_text().endswith("-without\n")
    assert " packages, so code in it has" in (said := make()) and "up to date" in said, said
    said = make(INDEX="1")
    assert [line for line in said.splitlines() if line.startswith("./")] == ["./pyarrow/__init__.py", "./pyarrow/lib.so"], said
    assert "up to date" in (said := make()) and "lack" not in said, said
    assert sorted(os.listdir(tmp_path)) == ["bin", "label", wheel.name]


def test_a_ctrl_c_that_the_chat_answers_is_no_failure_of_make_run(tmp_path):
    """make gets no Ctrl-C of the chat's: it would end with 130 once the chat has."""
    for name, text in (("Makefile", "run:\n\t@setup/run.sh\nbuild/sandpiper:\n"), ("setup/packages.sh", "#!/bin/sh\n"),
                       ("setup/run.sh", open(os.path.join(TREE, "setup", "run.sh")).read()),
                       ("build/sandpiper", "#!/bin/sh\n[ $# = 0 ] || exit 1\ntrap 'echo stopped' INT\necho ready\nread line\nread line\n")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    p = pexpect.spawn("make", ["run"], cwd=str(tmp_path), env=dict(os.environ, OPENAI_API_KEY="x", HOME=str(tmp_path)), encoding="utf-8", timeout=60)
    p.expect("ready")
    p.sendintr()
    p.expect("stopped")
    p.sendline("")
    p.sendline("")
    p.expect(pexpect.EOF)
    p.close()
    assert (p.exitstatus, p.signalstatus) == (0, None) and "***" not in p.before, p.before
