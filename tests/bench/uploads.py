"""uploads.py - fifty files of a session to a real S3 server and a real Azure Blob server, beside a loop of curl that sends the same files."""
import glob
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "..", "e2e"))

from storage_server import Real  # noqa: E402

COUNT, SIZE = 50, 1 << 20
CODE = "import os\nfor i in range(%d): open('f%%02d.bin' %% i, 'wb').write(os.urandom(%d))" % (COUNT, SIZE)     # what the scripted model runs
HEADERS = {"s3": ["--aws-sigv4", "aws:amz:us-east-1:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"], "azure": ["-H", "x-ms-blob-type: BlockBlob"]}


def seconds(argv, env):
    begin = time.perf_counter()
    subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def curl(kind, server, path):
    user = ["-u", "%s:%s" % (server.env["AWS_ACCESS_KEY_ID"], server.env["AWS_SECRET_ACCESS_KEY"])] if kind == "s3" else []
    return ["curl", "-sf", *HEADERS[kind], *user, "-T", path, "%s/curl/%s%s" % (server.place, os.path.basename(path), server.query)]


def measure(program, env, rounds=3):
    """{kind: (seconds that --upload costs over the same question without it, seconds of the loop)}, the best of each."""
    programs = subprocess.run([os.path.join(HERE, "../../setup/storage_servers.sh")], capture_output=True, text=True, check=True).stdout.strip()
    out = {}
    for kind in ("s3", "azure"):
        folder = os.path.join(env["HOME"], kind)
        os.makedirs(folder)
        server = Real(kind, folder, programs)
        try:
            ask = [program, "--stdin", "ignore", "--sandbox", "bwrap", "--max-files-total", "1g", "--out"]
            without, ours, loop = [], [], []
            for i in range(rounds):
                without.append(seconds(ask + [folder + "/a%d" % i, "fifty files"], env))
                ours.append(seconds(ask + [folder + "/b%d" % i, "--upload", server.to, "fifty files"], dict(env, **server.env)))
                files = sorted(glob.glob(folder + "/b%d/*.bin" % i))
                assert len(files) == COUNT, files
                loop.append(sum(seconds(curl(kind, server, f), env) for f in files))
            out[kind] = min(ours) - min(without), min(loop)
        finally:
            server.close()
    return out
