"""slurm_cluster.py - a real Slurm on loopback for the tests that need one: a controller, munge, and nodes of this machine, in a folder of its own. As
root. It is up within a second; its daemons are our children, and are killed with us."""
import contextlib
import os
import random
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


PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def free_ports(n):
    """A row of them, below those that the kernel gives to others meanwhile."""
    while True:
        first = random.randrange(20000, 32000)
        try:
            for port in range(first, first + n):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


class Cluster:
    def __init__(self, folder, names):
        self.folder, self.names, self.conf, self.daemons = folder, names, os.path.join(folder, "slurm.conf"), {}
        self.env = dict(os.environ, SLURM_CONF=self.conf, PATH=PATH)

    def ask(self, *argv, **kw):
        return subprocess.run(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, cwd="/", **kw).stdout

    def jobs(self):
        return self.ask("squeue", "--noheader", "--format=%i %T").splitlines()

    def start(self, name, *argv):
        self.daemons[name] = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, cwd="/")

    def start_node(self, name):
        self.start(name, "slurmd", "-D", "-f", self.conf, "-N", name)

    def kill(self, name):
        """One is gone: a node with all that it ran, which are the daemons of its steps."""
        self.daemons[name].kill()
        self.daemons.pop(name).wait()
        for other in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % other, "rb") as f, open("/proc/%s/environ" % other, "rb") as e:
                    env = e.read()
                    if f.read().startswith(b"slurmstepd") and b"SLURMD_NODENAME=%s\0" % name.encode() in env and self.conf.encode() in env:
                        os.kill(int(other), signal.SIGKILL)
            except OSError:
                pass

    def wait_idle(self, seconds=60):
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
    lacks = [p for p in ("slurmctld", "slurmd", "munged", "srun", "salloc") if not shutil.which(p, path=PATH)]
    return "Slurm is not there: slurm-wlm, munge (%s)" % ", ".join(lacks) if lacks else None


def start_munge(c):
    """An authentication of its own."""
    key = os.path.join(c.folder, "munge.key")
    with open(key, "wb") as f:
        f.write(os.urandom(1024))
    os.chmod(key, 0o400)
    names = {n: os.path.join(c.folder, "munge." + n) for n in ("socket", "log", "pid", "seed")}
    c.start("munge", "munged", "--foreground", "--force", "--key-file=" + key, "--socket=" + names["socket"], "--log-file=" + names["log"],
            "--pid-file=" + names["pid"], "--seed-file=" + names["seed"])
    deadline = time.monotonic() + 30
    while not os.path.exists(names["socket"]):
        assert time.monotonic() < deadline and c.daemons["munge"].poll() is None, "munged does not start"
        time.sleep(0.02)


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
    try:
        start_munge(c)
        c.start("slurmctld", "slurmctld", "-D", "-f", c.conf)
        for name in names:
            c.start_node(name)
        c.wait_idle()
        yield c
    finally:
        for name in reversed(list(c.daemons)):
            c.kill(name)
        shutil.rmtree(folder, ignore_errors=True)
