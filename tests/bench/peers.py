"""peers.py - what others need for a warm print(1), measured beside us: a Jupyter kernel and the npm package interpreter-tools (its pool strategy).

The kernel is installed below build/ when first wanted; of interpreter-tools, which npm does not have any more, SANDPIPER_BENCH_INTERPRETER_TOOLS names
the folder of a copy built from its sources. What cannot be had or does not run is said to be not measured, with the reason.
"""
import os
import shutil
import subprocess

JUPYTER = """
import sys, time
from jupyter_client.manager import KernelManager

def run():
    asked, out = client.execute("print(1)"), ""
    while True:
        m = client.get_iopub_msg(timeout=20)
        if m["parent_header"].get("msg_id") != asked:
            continue
        if m["msg_type"] == "stream":
            out += m["content"]["text"]
        elif m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
            break
    client.get_shell_msg(timeout=20)
    assert out == "1\\n", out

n, t = int(sys.argv[1]), time.perf_counter()
manager = KernelManager(kernel_name="python3")
manager.start_kernel()
try:
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    run()
    first, us = time.perf_counter() - t, []
    for _ in range(n):
        t = time.perf_counter()
        run()
        us.append((time.perf_counter() - t) * 1e6)
    us.sort()
    print("first_ms %.1f p50_us %.0f p99_us %.0f" % (first * 1e3, us[n // 2], us[n * 99 // 100]))
    client.stop_channels()
finally:
    manager.shutdown_kernel(now=True)
"""

# As its README and its own benchmark have it: one session of the pool strategy, each snippet a new process in a kept container. Two things it does
# around that are held off: a pull before each container, which fails for an image no registry has, and at the end the removal of every container
# named it_*, also another's. A language's image goes before the session's, and our image's user, not root, must write to the folders it makes.
INTERPRETER_TOOLS = """
const [, , n, image, folder] = process.argv;
const { executionEngine: engine, ContainerStrategy, LanguageRegistry } = require(folder);
const docker = require('module').createRequire(require.resolve(folder))('dockerode').prototype;
docker.pull = (name, done) => done(null, require('stream').Readable.from([]));
docker.listContainers = async () => [];
LanguageRegistry.register({ ...LanguageRegistry.get('python'), defaultImage: image });
process.umask(0);
(async () => {
  try {
    const begin = performance.now();
    const session = await engine.createSession({ strategy: ContainerStrategy.POOL, containerConfig: { image } });
    const run = async () => {
      const r = await engine.executeCode(session, { language: 'python', code: 'print(1)', dependencies: [] });
      if (r.stdout.trim() !== '1') throw new Error('it printed ' + JSON.stringify(r.stdout + r.stderr));
    };
    await run();
    const first = performance.now() - begin, us = [];
    for (let i = 0; i < n; i++) {
      const t = performance.now();
      await run();
      us.push((performance.now() - t) * 1000);
    }
    us.sort((a, b) => a - b);
    console.log('first_ms', first.toFixed(1), 'p50_us', us[n >> 1].toFixed(0), 'p99_us', us[Math.floor(n * 99 / 100)].toFixed(0));
  } finally {
    await engine.cleanup();
  }
})().catch((e) => { console.error(String(e.message || e)); process.exit(1); });
"""


class Unmeasured(Exception):
    pass


def call(argv, what, timeout, **more):
    """stdout of a command that must work; its last words otherwise."""
    try:
        r = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Unmeasured("%s: %s" % (what, type(e).__name__))
    if r.returncode:
        said = [line for line in (r.stderr or r.stdout).splitlines() if line.strip()] or ["exit code %d" % r.returncode]
        word = [line for line in said if "error" in line.lower() or "404" in line] or said[-1:]
        raise Unmeasured("%s: %s" % (what, word[0].strip()[:100]))
    return r.stdout


def figures(text):
    words = text.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


def jupyter(folder, n):
    """A kernel of ipykernel, uncontained, asked by jupyter_client."""
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import ipykernel, jupyter_client"], capture_output=True).returncode:
        python = folder + "/venv/bin/python"
        if not os.path.exists(folder + "/venv/ready"):
            shutil.rmtree(folder + "/venv", ignore_errors=True)
            call(["/usr/bin/python3", "-m", "venv", folder + "/venv"], "python3 -m venv", 60)
            call([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "ipykernel", "jupyter_client"], "pip install ipykernel", 180)
            open(folder + "/venv/ready", "w").close()
    return figures(call([python, "-c", JUPYTER, str(n)], "the kernel", 120))


def interpreter_tools(folder, n, image):
    """In a container of docker's, from the same image as ours. Not installed: npm has no package of that name any more, so whoever takes the name next
    would have his code run here."""
    package = os.environ.get("SANDPIPER_BENCH_INTERPRETER_TOOLS")
    if not shutil.which("node") or not shutil.which("docker"):
        raise Unmeasured("node or docker is not here")
    if not package:
        raise Unmeasured("npm does not have it any more; SANDPIPER_BENCH_INTERPRETER_TOOLS names no built copy")
    os.makedirs(folder, exist_ok=True)
    script = folder + "/interpreter-tools.js"
    with open(script, "w") as f:
        f.write(INTERPRETER_TOOLS)
    return figures(call(["node", script, str(n), image, os.path.abspath(package)], "interpreter-tools", 120, cwd=folder))
