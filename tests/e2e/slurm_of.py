"""A real Slurm in a folder and a network namespace of its own: munged, slurmctld, several slurmd on
this one machine."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess

from site_of import LIMIT_S, until

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
NEEDED = {"munged": "munge", "slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "sbatch": "slurm-wlm",
          "ip": "iproute2"}

CONFIG = """
ClusterName=test
SlurmctldHost={host}(10.81.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
SlurmctldPort=16817
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not():
    """Why there can be none here; None: there can."""
    if os.geteuid() != 0:
        return "a Slurm of its own needs root"
    for program, package in NEEDED.items():
        if shutil.which(program, path=PATH) is None:
            return f"there is no {program}: {package} is not installed"
    name = f"strait-try-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, env={"PATH": PATH},
                      check=False).returncode != 0:
        return "network namespaces cannot be made here"
    subprocess.run(["ip", "netns", "del", name], check=True, env={"PATH": PATH})
    return None


class Slurm:
    def __init__(self, folder, nodes):
        self.dir = folder
        self.names = [f"n{i + 1}" for i in range(nodes)]
        self.space = f"strait-slurm-{os.getpid()}"
        self.env = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf"), "LC_ALL": "C.UTF-8"}
        self.children = []
        folder.mkdir()
        folder.chmod(0o755)  # munged wants it so.
        try:
            self.network()
            self.configure()
            self.begin()
        except BaseException:
            self.close()
            raise

    def ip(self, *args):
        subprocess.run(["ip", *args], check=True, env=self.env)

    def network(self):
        self.ip("netns", "add", self.space)
        self.ip("-n", self.space, "link", "set", "lo", "up")
        self.ip("-n", self.space, "link", "add", "br0", "type", "bridge")
        for i in range(len(self.names)):
            self.ip("-n", self.space, "addr", "add", f"10.81.0.{i + 1}/24", "dev", "br0")
        self.ip("-n", self.space, "link", "set", "br0", "up")

    def configure(self):
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=10.81.0.{i + 1} Port={17001 + i} CPUs=4 "
            "RealMemory=2000 State=UNKNOWN" for i, name in enumerate(self.names))
        (self.dir / "slurm.conf").write_text(CONFIG.format(host=host, dir=self.dir, nodes=nodes))
        (self.dir / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for name in ["state"] + [f"spool-{n}" for n in self.names]:
            (self.dir / name).mkdir()
        key = self.dir / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def inside(self, *words):
        return ["ip", "netns", "exec", self.space, *map(str, words)]

    def start(self, *words):
        with open(self.dir / f"{words[0]}.said", "a", encoding="utf-8") as said:
            self.children.append(subprocess.Popen(
                self.inside(*words), env=self.env, stdin=subprocess.DEVNULL, stdout=said,
                stderr=said))

    def say(self, *words):
        done = subprocess.run(self.inside(*words), env=self.env, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        return done.stdout

    def begin(self):
        self.start("munged", "--foreground", "--force", f"--key-file={self.dir}/munge.key",
                   f"--socket={self.dir}/munge.sock", f"--pid-file={self.dir}/munged.pid",
                   f"--log-file={self.dir}/munged.log", f"--seed-file={self.dir}/munge.seed")
        until(lambda: (self.dir / "munge.sock").exists(), 20)
        self.start("slurmctld", "-D", "-f", self.dir / "slurm.conf", "-c")
        for name in self.names:
            self.start("slurmd", "-D", "-N", name, "-f", self.dir / "slurm.conf")
        until(lambda: self.say("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] *
              len(self.names), 40)

    def jobs(self):
        return self.say("squeue", "-h", "-o", "%i %T").splitlines()

    def pids(self):
        """All processes in the namespace."""
        done = subprocess.run(["ip", "netns", "pids", self.space], env=self.env, check=False,
                              capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def close(self):
        for child in self.children:
            child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.pids(), 20)
        subprocess.run(["ip", "netns", "del", self.space], env=self.env, check=False)
