"""slurm_cluster.py - a real Slurm on loopback for the tests that need one: a controller, munge, and nodes of this machine, in a folder of its own. As
root. It is up in some seconds; everything that it started is ended by its pid files."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

CONF = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MinJobAge=10
SlurmdTimeout=20
SlurmctldPort={port}
SlurmdPort={port1}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=64000 State=UNKNOWN\n"
PARTITION = "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n"


def free_ports(n):
    """A row of them."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            first = s.getsockname()[1]
        try:
            for port in range(first, first + n):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


class Cluster:
    def __init__(self, folder, names):
        self.folder, self.names, self.conf = folder, names, os.path.join(folder, "slurm.conf")
        self.env = dict(os.environ, SLURM_CONF=self.conf)

    def ask(self, *argv, **kw):
        return subprocess.run(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, cwd="/", **kw).stdout

    def jobs(self):
        return self.ask("squeue", "--noheader", "--format=%i %T").splitlines()

    def daemon(self, name):
        with open(os.path.join(self.folder, name + ".pid")) as f:
            return int(f.read())

    def kill(self, name):
        """A node is gone, with all that it ran: its daemon, and the daemons of its steps."""
        pid = self.daemon(name)
        os.kill(pid, signal.SIGKILL)
        for other in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % other, "rb") as f, open("/proc/%s/environ" % other, "rb") as e:
                    if f.read().startswith(b"slurmstepd") and ("SLURMD_NODENAME=%s\0" % name).encode() in e.read():
                        os.kill(int(other), signal.SIGKILL)
            except OSError:
                pass

    def start_node(self, name):
        subprocess.run(["slurmd", "-f", self.conf, "-N", name], env=self.env, check=True, cwd="/")

    def wait_idle(self, seconds=30):
        deadline = time.monotonic() + seconds
        while self.ask("sinfo", "--noheader", "--format=%T", "--Node").split().count("idle") < len(self.names):
            if time.monotonic() > deadline:
                raise AssertionError(self.ask("sinfo", "-N") + self.log("slurmctld"))
            time.sleep(0.1)

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), errors="replace") as f:
            return f.read()[-4000:]


def missing():
    if os.geteuid() != 0:
        return "Slurm's daemons are started by root"
    lacks = [p for p in ("slurmctld", "slurmd", "munged", "srun", "salloc") if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    return "Slurm is not there: slurm-wlm, munge (%s)" % ", ".join(lacks) if lacks else None


def munge(folder):
    """An authentication of its own, in the foreground."""
    key = os.path.join(folder, "munge.key")
    with open(key, "wb") as f:
        f.write(os.urandom(1024))
    os.chmod(key, 0o400)
    names = {n: os.path.join(folder, "munge." + n) for n in ("socket", "log", "pid", "seed")}
    return subprocess.Popen(["munged", "--foreground", "--force", "--key-file=" + key, "--socket=" + names["socket"], "--log-file=" + names["log"],
                             "--pid-file=" + names["pid"], "--seed-file=" + names["seed"]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, cwd="/", env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))


@contextlib.contextmanager
def running(nodes=2, cpus=8):
    problem = missing()
    if problem:
        (pytest.fail if os.environ.get("SANDPIPER_TEST_ENGINES") == "required" and os.geteuid() == 0 else pytest.skip)(problem)
    folder = tempfile.mkdtemp(prefix="sp-slurm-", dir="/tmp")
    os.chmod(folder, 0o755)
    os.mkdir(os.path.join(folder, "state"))
    port, names = free_ports(nodes + 2), ["n%d" % i for i in range(1, nodes + 1)]
    c = Cluster(folder, names)
    with open(c.conf, "w") as f:
        f.write(CONF.format(folder=folder, port=port, port1=port + 1))
        f.writelines(NODE.format(name=name, host=socket.gethostname(), port=port + 2 + i, cpus=cpus) for i, name in enumerate(names))
        f.write(PARTITION)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    authentication = munge(folder)
    try:
        deadline = time.monotonic() + 10
        while not os.path.exists(os.path.join(folder, "munge.socket")):
            assert time.monotonic() < deadline and authentication.poll() is None, "munged does not start"
            time.sleep(0.02)
        subprocess.run(["slurmctld", "-f", c.conf], env=c.env, check=True, cwd="/")
        for name in names:
            c.start_node(name)
        c.wait_idle()
        yield c
    finally:
        for name in [*names, "slurmctld"]:
            with contextlib.suppress(OSError, ValueError):
                pid = c.daemon(name)
                os.kill(pid, signal.SIGKILL)
        authentication.terminate()
        authentication.wait()
        shutil.rmtree(folder, ignore_errors=True)
