"""A PostgreSQL of our own, in a folder of our own; it refuses to run as root, so then it runs as somebody else."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path


def _program(name):
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


class Postgres:
    """A database server that can be stopped and started."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kakuran-postgres-"))
        self.data = self.folder / "data"
        self._handed_out = 0
        with socket.create_server(("127.0.0.1", 0)) as trial:
            self.port = trial.getsockname()[1]
        if os.getuid() == 0:
            os.chown(self.folder, pwd.getpwnam("nobody").pw_uid, -1)
        self._run("initdb", "-D", self.data, "-U", "kakuran", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n")
            settings.write("listen_addresses = '127.0.0.1'\nshared_buffers = '32MB'\n")
        self.start()

    def _run(self, program, *arguments):
        as_nobody = {"user": "nobody", "cwd": self.folder} if os.getuid() == 0 else {}
        subprocess.run([_program(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, **as_nobody)

    def start(self):
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "start")

    def stop(self):
        self._run("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    def new_database(self):
        """The address of an empty database; of three that take turns, since each takes room on the disk."""
        import psycopg

        name = f"survey{self._handed_out % 3}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            if self._handed_out < 3:
                connection.execute(f"CREATE DATABASE {name}")
        with psycopg.connect(self.address(name), autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        self._handed_out += 1
        return self.address(name)

    def address(self, database):
        return f"postgresql://kakuran@127.0.0.1:{self.port}/{database}"

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
